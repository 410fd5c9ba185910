/** Requests in a block. */
const BLOCK_SIZE = 65_536;

/** So many blocks are kept at most: 12.6 million requests, 100 MB. */
const MAX_BLOCKS = 192;

/** The longest time within a block, in milliseconds: 49 days. */
const MAX_OFFSET_MS = 2 ** 32 - 1;

const CLIENT_BITS = 24;
const CLIENT_MASK = 2 ** CLIENT_BITS - 1;

/** So many policies fit beside a client's number. */
export const MAX_POLICIES = 8;

/** Requests one after the other. */
export interface Block {
  /** The time of the first one. */
  readonly from: number;
  /** Milliseconds since then. */
  readonly offsets: Uint32Array;
  /** The client's number, and above it a bit for each policy that denied. */
  readonly entries: Uint32Array;
  length: number;
}

/** The last requests: client, time, and the policies that denied. */
export class Trace {
  readonly blocks: Block[] = [];
  readonly #maxBlocks: number;
  #dropped = 0;

  constructor(maxBlocks: number = MAX_BLOCKS) {
    this.#maxBlocks = maxBlocks;
  }

  /** Whether it has all requests of the log. */
  get isWhole(): boolean {
    return this.#dropped === 0;
  }

  /** Blocks there were before those it has. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Whether the next request needs a block that it has no room for, and `drop` is to be called before. */
  isFull(time: number): boolean {
    return this.#needsBlock(time) && this.blocks.length === this.#maxBlocks;
  }

  /** Forgets the first block. */
  drop(): void {
    this.blocks.shift();
    this.#dropped += 1;
  }

  /** Adds a request. `denied`: a bit for each policy. */
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

/** A bit for each policy that denied. */
export function deniedAt({ entries }: Block, i: number): number {
  return (entries[i] as number) >>> CLIENT_BITS;
}
