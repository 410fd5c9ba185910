import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Awaitable } from "../awaitable.ts";
import type { Decision } from "../decision.ts";
import { codeOf, formatKind, formatReceived, HeadgateError } from "../errors.ts";
import type { DeniedNetwork } from "../fleet/control/record.ts";
import { noteUse } from "../fleet/directory/listings.ts";
import { limitsBefore, placesOf } from "../limiter/counted-decision.ts";
import { Flights } from "../limiter/flights.ts";
import type { ConsumeOptions, CostOptions, Learned, MadeLimiter } from "../limiter/limiter.ts";
import { LIMITER, partsOf } from "../limiter/limiter.ts";
import type { Turn, TurnOptions } from "../limiter/line/line.ts";
import { closedError } from "../limiter/open-limiter.ts";
import type { DecisionMessage } from "../limiter/published-decision.ts";
import { decisions, publishDecision, subjectsIn } from "../limiter/published-decision.ts";
import { createAddressReader } from "./address-header.ts";
import { answerTo, BLOCKED } from "./answer.ts";
import { createListCheck } from "./client-lists.ts";
import { countsAll, createCount } from "./count.ts";
import { isDenied } from "./deny-list.ts";
import type { Asked, GuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import { formatPolicy, quoteName, readHeadersOption } from "./headers.ts";
import { holdPlaces } from "./hold-places.ts";
import { isPromiseLike } from "./is-promise-like.ts";
import type { HttpRequest } from "./key-function.ts";
import { watchLeaving } from "./leaving.ts";
import type { ListedRequest } from "./listed-request.ts";
import { publishListed } from "./listed-request.ts";
import type { PolicyText } from "./policy-text.ts";
import { writePolicy } from "./policy-text.ts";
import { createProxyTrustWatch } from "./proxy-trust.ts";
import type { SubjectReader } from "./read-subjects.ts";
import { createSubjectReader } from "./read-subjects.ts";
import {
  chargeOf,
  fixedCharge,
  isOwnLimiter,
  isSameCost,
  rejectImpossibleCost,
} from "./request-cost.ts";
import type { AskedPart, OwnDecision } from "./request-state.ts";
import {
  decisionsOf,
  forgetAsked,
  hasAskedAll,
  ownDecision,
  partsAsked,
  takeUnasked,
  takeUnjudged,
} from "./request-state.ts";
import { areSubjects } from "./request-subjects.ts";
import { rejectUnreadKeys } from "./unread-keys.ts";
import { useOf } from "./use-of.ts";
import type { Client, Verdict } from "./verdict.ts";
import { LEFT, PASS } from "./verdict.ts";
import { readWaitOption } from "./wait-option.ts";
import type { Warn } from "./warn.ts";

/** Decides requests of one framework under one set of options. */
export interface Guard<Request> {
  /**
   * Checks lists, the deny list, skip, limits, key, cost and decision, in this order. `response` is Node's: until it ends, places are
   * held; then `count` judges `reply`, which is the framework's own; with `wait` it shows whether the client leaves. Rejects with what the
   * framework should handle as an error.
   */
  check(request: Request, client: Client, response?: object, reply?: object): Promise<Verdict>;
  /** Whether `check` needs a response, for `count`, `wait` or places. */
  readonly needsResponse: boolean;
  /**
   * Answers all waiting requests as if their time were over, and lets no request wait from now on. Resolves when the requests under way
   * are decided.
   */
  end(): Promise<void>;
  /** The limiter's decision on a request; undefined if it was not asked. */
  of(request: object): OwnDecision | undefined;
}

/** What an adapter knows of its framework. */
export interface Adapter<Request> {
  /** What the directory calls it. */
  readonly name: string;
  readonly warn: Warn;
  /** The method and the route of a request as it was written, as in `GET /users/:id`; undefined where there is none. */
  routeOf(request: Request): string | undefined;
}

/**
 * Prepares the one path a request takes in HTTP. `owner` names it in errors; `inherited` are the options that were given
 * for others too, and need not all be read here. Throws `HEADGATE_INVALID_OPTION`, and then closes the limiters, so that nothing
 * keeps their names.
 */
export function createGuard<Request extends HttpRequest>(
  owner: string,
  limiters: GuardLimiters,
  options: GuardOptions<Request>,
  adapter: Adapter<Request>,
  inherited: GuardOptions<Request> = {},
): Guard<Request> {
  try {
    if (options.key !== inherited.key) rejectUnreadKeys(owner, options.key, limiters.all);
    return prepareGuard(owner, limiters, options, adapter);
  } catch (error) {
    void limiters.close();
    throw error;
  }
}

/** What is known of a limiter before the first request. */
interface Prepared<Request> {
  readonly reader: SubjectReader<Request>;
  /** What answers say of its own limits. */
  readonly text: PolicyText;
  /** The same where the numbers are those of a request or of an override, by the same names. */
  readonly names: PolicyText;
  /** Whether its limits are those of the options, not only of what they extend. */
  readonly isOwn: boolean;
  /** What every request costs, unless a function says it; undefined for one unit. */
  readonly fixed: CostOptions | undefined;
}

function prepareGuard<Request extends HttpRequest>(
  owner: string,
  limiters: GuardLimiters,
  options: GuardOptions<Request>,
  { name, warn, routeOf }: Adapter<Request>,
): Guard<Request> {
  const waitMs = readWaitOption(options.wait);
  rejectBesideBlocks(owner, limiters.all, options.count, waitMs);
  rejectImpossibleCost(owner, options.cost, limiters);
  const headers = readHeadersOption(options.headers);
  const areSilent = !headers.legacy && !headers.standard;
  const { missing = "ip", skip, cost = 1, address } = options;
  const ending = new AbortController();
  const prepared = new Map<MadeLimiter, Prepared<Request>>();
  for (const limiter of limiters.all) {
    const reader = createSubjectReader(owner, limiter, options.key, missing);
    const text = writePolicy(partsOf(limiter).counted.limits);
    const isOwn = isOwnLimiter(limiters, limiter);
    const fixed = fixedCharge(owner, cost, limiter, isOwn);
    prepared.set(limiter, { reader, text, names: { ...text, policy: undefined }, isOwn, fixed });
    const { store } = partsOf(limiter).counted;
    noteUse(store, limiter.name, useOf(name, reader.sources, options));
  }
  const lists = createListCheck(owner, options);
  const usesAddress = [lists, ...[...prepared.values()].map(({ reader }) => reader)].some(
    (reader) => reader?.usesAddress,
  );
  const watch = usesAddress ? createProxyTrustWatch(warn) : undefined;
  /** The same for a deny list, where nothing else uses the address. */
  let denyWatch: ReturnType<typeof createProxyTrustWatch> | undefined;
  /** All limiters of a guard are on one store. */
  const { control, watch: storeWatch } = limiters.all[0]?.[LIMITER] ?? {};
  const readAddress = address === undefined ? undefined : createAddressReader(owner, address, warn);
  const flights = limiters.only?.[LIMITER].flights ?? new Flights();
  /** Whether the application may let a denied request on. */
  const mayPass = typeof options.onDenied === "function";

  /** The client as it counts. What a trusted header says of it is not the framework's to trust. */
  function counted(request: Request, connected: Client): Client {
    const client = readAddress === undefined ? connected : readAddress(request, connected);
    if (client === connected) watch?.check(request, client.address, client.peer);
    return client;
  }

  async function decide(request: Request, connected: Client, response?: object): Promise<Verdict> {
    // A request that is here before `close` is decided, however long its key takes.
    const isOver = limiters.only?.[LIMITER].isClosed ?? limiters.all.some(isClosed);
    const client = counted(request, connected);
    if (lists !== undefined) {
      const listed = lists.find(request, client);
      const verdict = isPromiseLike(listed) ? await listed : listed;
      if (verdict !== undefined) {
        if (verdict.kind !== "left") {
          const list = verdict.kind === "pass" ? "allowList" : "blockList";
          publishListed(() => listedMessageOf(request, list));
        }
        return verdict;
      }
    }
    let waitedForControl = 0;
    if (control !== undefined) {
      const isDue = performance.now() >= control.known.due;
      const refreshed = isDue ? control.refresh() : undefined;
      if (refreshed !== undefined) {
        const began = storeWatch?.now() ?? 0;
        await refreshed;
        waitedForControl = (storeWatch?.now() ?? 0) - began;
      }
      const { denied } = control.known.record;
      if (denied !== undefined) {
        const verdict = checkDenied(denied, request, client, client === connected);
        if (verdict !== undefined) return verdict;
      }
    }
    /** Whether nothing was waited for since then. */
    let isFresh = true;
    if (skip !== undefined) {
      const skipped = skip(request);
      const isLater = isPromiseLike(skipped);
      if (isSkipped(owner, isLater ? await skipped : skipped)) return PASS;
      if (isLater) isFresh = false;
    }
    const found = limiters.of(request);
    let asked: Asked | null;
    if (isPromiseLike(found)) {
      asked = await found;
      isFresh = false;
    } else {
      asked = found;
    }
    if (asked === null) return PASS;
    const { limiter, limits } = asked;
    if (isOver) throw closedError(limiter.name);
    const { reader, text, names, isOwn, fixed } = prepared.get(limiter) as Prepared<Request>;
    const read = reader.read(request, client);
    let subjects: Awaited<typeof read>;
    if (isPromiseLike(read)) {
      subjects = await read;
      isFresh = false;
    } else {
      subjects = read;
    }
    if (!areSubjects(subjects)) return withoutKey(subjects, limiter);
    let charge = fixed;
    if (typeof cost === "function") {
      const units: unknown = cost(request);
      const isLater = isPromiseLike(units);
      charge = chargeOf(isLater ? await units : units, limiter, isOwn);
      if (isLater) isFresh = false;
    }
    if (options.count !== undefined) noteCount(request, limiter);
    const part = takeUnasked(request, limiter, subjects, options.cost);
    if (part === undefined) {
      rejectUnreadCost(request, limiter);
      return PASS;
    }
    part.count = options.count;
    const started = decisions.hasSubscribers ? performance.now() : undefined;
    let decision: Decision;
    let waitedMs: number | undefined;
    try {
      const asking = limits === undefined ? charge : { ...charge, limits };
      if (waitMs === undefined) {
        decision = await ask(
          part,
          asking,
          isFresh && waitedForControl === 0 ? LEARNED : { waitedMs: waitedForControl, isFresh },
        );
      } else {
        const turn = await askInTurn(part, asking, {
          timeoutMs: waitMs,
          watchLeaving: () => watchLeaving(response as object, client, ending.signal),
        });
        if (turn === undefined) return LEFT;
        ({ decision, waitedMs } = turn);
      }
    } catch (error) {
      forgetAsked(request, part);
      throw limits === undefined ? error : ofRequest(owner, error);
    }
    const { counted: asks, usage } = limiter[LIMITER];
    usage?.note(subjectsIn(part), decision);
    const places = asks.hasPlaces ? placesOf(decision, asks) : undefined;
    if (places !== undefined && response !== undefined) holdPlaces(places, response);
    const written = limits === undefined && !decision.overridden ? text : names;
    const said = isWhole(decision, limiter) ? written : textBefore(decision);
    part.reported = { decision, headers, text: said };
    const message =
      started === undefined
        ? undefined
        : messageOf(request, part, decision, performance.now() - started);
    // A decision in shadow is not shown, and the others' decisions already were.
    const verdict = decision.shadow
      ? PASS
      : answerTo(decisionsOf(request), Date.now(), areSilent ? undefined : waitedMs);
    if (verdict.kind === "denied" && mayPass) {
      return { ...verdict, conclude: conclusionOf(part, message) };
    }
    if (message !== undefined) publishDecision(message);
    return verdict;
  }

  /** Whether an operator denies the client; undefined where not. A client without an address is on no list, unless it has left. */
  function checkDenied(
    denied: readonly DeniedNetwork[],
    request: Request,
    client: Client,
    isConnected: boolean,
  ): Verdict | undefined {
    const { address, peer } = client;
    if (!address) return client.hasLeft() ? LEFT : undefined;
    if (isConnected && watch === undefined) {
      denyWatch ??= createProxyTrustWatch(warn);
      denyWatch.check(request, address, peer);
    }
    if (!isDenied(denied, address, control?.known.now() ?? 0)) return undefined;
    publishListed(() => listedMessageOf(request, "denyList"));
    return BLOCKED;
  }

  /** For a request that is on a list. With tiers it is not known which one it would have been. */
  function listedMessageOf(request: Request, list: ListedRequest["list"]): ListedRequest {
    return {
      limiter: limiters.only?.name ?? options.name ?? "limiter",
      plugin: limiters.all[0]?.[LIMITER].counted.reported.plugin,
      route: routeOf(request),
      list,
    };
  }

  function messageOf(
    request: Request,
    part: AskedPart,
    decision: Decision,
    durationMs: number,
  ): DecisionMessage {
    return {
      limiter: part.limiter.name,
      plugin: part.limiter[LIMITER].counted.reported.plugin,
      route: routeOf(request),
      subject: subjectsIn(part),
      decision,
      durationMs,
    };
  }

  /**
   * A cost that comes too late would be ignored: what the request costs was said by whoever asked first. It is not too late where
   * this mount has a dimension of its own to ask, for which only this request lacks a subject.
   */
  function rejectUnreadCost(request: Request, limiter: MadeLimiter): void {
    if (options.cost === undefined || !hasAskedAll(request, limiter)) return;
    const asked = partsAsked(request, [limiter]);
    if (asked.some((part) => isSameCost(part.cost, options.cost))) return;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: cost would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request; give the cost where it is asked first`,
    );
  }

  /** A count comes in time after the request was charged, too. Of two that differ the second would be ignored. */
  function noteCount(request: Request, limiter: MadeLimiter): void {
    for (const part of partsAsked(request, [limiter])) {
      part.count ??= options.count;
      if (part.count === options.count) continue;
      throw new HeadgateError(
        "HEADGATE_INVALID_OPTION",
        `${owner}: count would be ignored, because the limiter ${formatReceived(limiter.name)} has already decided this request under another count; give the same one, or none`,
      );
    }
  }

  const count = createCount(
    options.count,
    (request) => takeUnjudged(request, limiters.all, options.count === undefined),
    limiters.all.some((limiter) => limiter[LIMITER].counted.keeps),
    warn,
  );

  async function check(
    request: Request,
    client: Client,
    response?: object,
    reply = response,
  ): Promise<Verdict> {
    const flight = flights.current;
    flight.count += 1;
    try {
      const decided = decide(request, client, response);
      count?.(decided, request, reply, response as object);
      return await decided;
    } finally {
      flight.count -= 1;
      if (flight.count === 0) flight.onLanded?.();
    }
  }

  return {
    check,
    needsResponse: count !== undefined || waitMs !== undefined || limiters.all.some(countsPlaces),
    async end() {
      ending.abort();
      await flights.landed();
    },
    of: (request) => ownDecision(request, limiters.all),
  };
}

/** Of most requests, which wait for nothing. */
const LEARNED: Learned = { waitedMs: 0, isFresh: true };

/** Notes once that the application let a denied request on, or did not, and publishes the decision, where anybody listens. */
function conclusionOf(
  part: AskedPart,
  message: DecisionMessage | undefined,
): (passed: boolean) => void {
  let isOver = false;
  return (passed) => {
    if (isOver) return;
    isOver = true;
    if (passed && part.reported !== undefined) part.reported = { ...part.reported, passed };
    if (message !== undefined) publishDecision(passed ? { ...message, passed } : message);
  };
}

function isClosed(limiter: MadeLimiter): boolean {
  return limiter[LIMITER].isClosed;
}

function countsPlaces(limiter: MadeLimiter): boolean {
  return limiter[LIMITER].counted.hasPlaces;
}

/** A request that lacks its key is not refused in shadow. */
async function withoutKey(verdict: Verdict, limiter: MadeLimiter): Promise<Verdict> {
  const isLetOn = verdict.kind === "refused" && (await limiter[LIMITER].isInShadow());
  return isLetOn ? PASS : verdict;
}

function ask(
  { limiter, groups, subjects }: AskedPart,
  charge: ConsumeOptions | undefined,
  learned: Learned | undefined,
): Awaitable<Decision> {
  return limiter[LIMITER].consumeIn(groups, subjects, charge, learned);
}

/** The same of a request that waits its turn when it is denied; undefined when nobody waits for its answer any more. */
function askInTurn(
  { limiter, groups, subjects }: AskedPart,
  charge: ConsumeOptions | undefined,
  turn: TurnOptions,
): Promise<Turn | undefined> {
  return limiter[LIMITER].consumeInTurn(groups, subjects, charge, turn);
}

/** Whether a decision is of all the limits of a limiter, as they were described: not of its share of them, nor without those that lack a key. */
function isWhole(decision: Decision, limiter: MadeLimiter): boolean {
  return !decision.degraded && decision.limits.length === limiter.limits.length;
}

/** What is said of a decision that a cost by name left limits out of: its policy has them, too. Undefined for others. */
function textBefore(decision: Decision): PolicyText | undefined {
  const before = limitsBefore(decision);
  if (before === undefined) return undefined;
  const names = decision.limits.map(({ name }) => quoteName(name));
  return { policy: formatPolicy(before), names };
}

/** Without the numbers of a customer, which an error handler may send to clients: they are in the cause. */
function ofRequest(owner: string, error: unknown): unknown {
  if (codeOf(error) !== "HEADGATE_INVALID_LIMIT") return error;
  return new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the limits of this request must be those of its base with other numbers; the cause says how they differ`,
    { cause: error },
  );
}

function isSkipped(owner: string, skipped: unknown): boolean {
  if (skipped === true || skipped === false || skipped === undefined) return skipped === true;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: skip must return true or false, got ${formatKind(skipped)}`,
  );
}

/**
 * Requests that are under way are charged until `count` has judged them: a denial for those must lock nobody out. Who waits is not
 * denied before its time is over, and would never be locked out.
 */
function rejectBesideBlocks(
  owner: string,
  limiters: readonly MadeLimiter[],
  count: GuardOptions<never>["count"],
  waitMs: number | undefined,
): void {
  const limits = limiters.flatMap((limiter) => limiter[LIMITER].counted.limits);
  const reject = (blocking: CompiledLimit | undefined, why: (name: string) => string): void => {
    if (blocking === undefined) return;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: ${why(formatReceived(blocking.name))}`,
    );
  };
  if (!countsAll(count)) {
    reject(
      limits.find(({ shape }) => shape.blocks && !shape.countsDenials),
      (name) =>
        `count cannot be used with limits whose denials block, because requests in progress would set blocks; the limit ${name} has a block, and its limiter was made without count. Give count where the limits are, or make the limiter with blockOn: "settle"`,
    );
  }
  if (waitMs !== undefined) {
    reject(
      limits.find(({ block }) => block !== undefined),
      (name) =>
        `wait cannot be used with limits that have a block, because it is set at once; the limit ${name} has one. Leave one of them out, for example with wait: false`,
    );
  }
}
