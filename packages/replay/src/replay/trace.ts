/** The requests in a block. */
const BLOCK_SIZE = 65_536;

/** The most blocks: 12.6 million requests, 100 MB. */
const MAX_BLOCKS = 192;

/** The longest time within a block: 49 days. */
const MAX_OFFSET_MS = 2 ** 32 - 1;

const CLIENT_BITS = 24;
const CLIENT_MASK = 2 ** CLIENT_BITS - 1;

/** The most policies whose bits fit next to the number of a client. */
export const MAX_POLICIES = 8;

/** A sequence of requests. */
export interface Block {
  /** The time of the first request. */
  readonly from: number;
  /** Milliseconds since `from`. */
  readonly offsets: Uint32Array;
  /** The number of the client, and above it one bit for each policy, set if it denied the request. */
  readonly entries: Uint32Array;
  length: number;
}

/** The latest requests with their client, their time, and the policies that denied them. */
export class Trace {
  readonly blocks: Block[] = [];
  readonly #maxBlocks: number;
  #dropped = 0;

  constructor(maxBlocks: number = MAX_BLOCKS) {
    this.#maxBlocks = maxBlocks;
  }

  /** Whether it contains all requests of the log. */
  get isWhole(): boolean {
    return this.#dropped === 0;
  }

  /** The number of dropped blocks. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Whether `drop` must be called before the next request is added. */
  isFull(time: number): boolean {
    return this.#needsBlock(time) && this.blocks.length === this.#maxBlocks;
  }

  /** Drops the first block. */
  drop(): void {
    this.blocks.shift();
    this.#dropped += 1;
  }

  /** Adds a request. `denied` has one bit for each policy. */
  add(time: number, client: number, denied: number): void {
    if (this.#needsBlock(time)) this.blocks.push(createBlock(time));
    const block = this.blocks.at(-1) as Block;
    block.offsets[block.length] = time - block.from;
    block.entries[block.length] = client + denied * (CLIENT_MASK + 1);
    block.length += 1;
  }

  #needsBlock(time: number): boolean {
    const last = this.blocks.at(-1);
    return last === undefined || last.length === BLOCK_SIZE || time - last.from > MAX_OFFSET_MS;
  }
}

function createBlock(from: number): Block {
  return {
    from,
    offsets: new Uint32Array(BLOCK_SIZE),
    entries: new Uint32Array(BLOCK_SIZE),
    length: 0,
  };
}

export function timeAt({ from, offsets }: Block, i: number): number {
  return from + (offsets[i] as number);
}

export function clientAt({ entries }: Block, i: number): number {
  return (entries[i] as number) & CLIENT_MASK;
}

/** One bit for each policy, set if it denied the request. */
export function deniedAt({ entries }: Block, i: number): number {
  return (entries[i] as number) >>> CLIENT_BITS;
}
