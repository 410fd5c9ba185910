import { unspentUnits } from "../../packages/core/src/pipeline/leases/lease-account.ts";
import type { Move, Setting, World } from "./small-world.ts";
import {
  abandon,
  beginWorld,
  copyWorld,
  crash,
  deliver,
  drop,
  evict,
  findMiscount,
  keyOf,
  look,
  loseReturn,
  refundLast,
  request,
  serve,
  TICK,
  takeBack,
  tick,
  unitsOutstanding,
} from "./small-world.ts";

/** How much is tried. */
export interface Bounds {
  readonly processes: number;
  readonly ticks: number;
  readonly crashes: number;
  /** The costs that clients ask for. */
  readonly costs: readonly number[];
}

/** How a world came about, the last move first. */
interface Trail {
  readonly name: string;
  readonly before: Trail | undefined;
}

/** Goes through all that can happen, in every order; returns how many different worlds there were. Throws at the first that is wrong. */
export function explore(setting: Setting, bounds: Bounds): number {
  const start = 7 * TICK;
  const end = start + bounds.ticks * TICK;
  const first = beginWorld(setting, bounds.processes, start);
  const seen = new Set([keyOf(first)]);
  const open: { readonly world: World; readonly trail: Trail | undefined }[] = [
    { world: first, trail: undefined },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [name, move] of movesOf(next.world, setting, bounds, end)) {
      const world = copyWorld(next.world, setting);
      const trail = { name, before: next.trail };
      setting.monitor.see(world.watched, unitsOutstanding(world));
      try {
        move(world);
      } catch (error) {
        throw new Error(`${(error as Error).message}: ${show(trail)}`, { cause: error });
      }
      const wrong = tooMuchHeld(world) ?? findMiscount(setting, world);
      if (wrong !== undefined) throw new Error(`${wrong}: ${show(trail)}`);
      const key = keyOf(world);
      if (seen.has(key)) continue;
      seen.add(key);
      open.push({ world, trail });
    }
  }
  return seen.size;
}

/** All that can happen next, until `end`. */
export function movesOf(
  world: World,
  setting: Setting,
  bounds: Bounds,
  end: number,
): [name: string, move: Move][] {
  const moves: [string, Move][] = [];
  world.processes.forEach(({ account, asks, paid }, p) => {
    if (paid.length > 0) moves.push([`${p}'s last is refunded`, refundLast(p)]);
    for (const cost of bounds.costs) {
      moves.push([`${p} is asked for ${cost}`, request(setting, p, cost)]);
    }
    asks.forEach(({ answer, listener }, a) => {
      if (answer === undefined) moves.push([`${p}'s lease is decided`, serve(setting, p, a)]);
      else moves.push([`${p} hears of its lease`, deliver(p, a)]);
      // One after another: those that nobody waits for are all alike.
      const isOneLate = asks.some((other) => other.listener !== "account");
      if (listener === "account" && !isOneLate) moves.push([`${p} gives up`, abandon(p, a)]);
      if (listener !== "account") moves.push([`${p}'s is lost`, (next) => drop(next, p, a)]);
    });
    if (account.leases.some(({ expiresAt }) => world.now >= expiresAt)) {
      moves.push([`${p} gives back`, look(p)]);
    }
    if (account.leases.length > 0) {
      if (asks.length < 2) moves.push([`${p} forgets`, evict(setting, p)]);
      if (world.crashes < bounds.crashes) moves.push([`${p} ends`, crash(setting, p)]);
    }
  });
  world.returns.forEach((_, r) => {
    moves.push(["units come back", takeBack(setting, r)]);
    moves.push(["units are lost", loseReturn(r)]);
  });
  if (world.now < end) moves.push(["time passes", tick(setting)]);
  return moves;
}

/** More than may be held. */
export function tooMuchHeld({ processes }: World): string | undefined {
  for (const { account } of processes) {
    const held = unspentUnits(account) + account.pendingUnits;
    if (held > account.settings.max) return `${held} units held of ${account.settings.max}`;
  }
  return undefined;
}

function show(trail: Trail | undefined): string {
  const names: string[] = [];
  for (let at = trail; at !== undefined; at = at.before) names.unshift(at.name);
  return names.join(", ");
}
