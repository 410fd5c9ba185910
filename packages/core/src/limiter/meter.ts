import { addAbortCallback } from "../common/abort-listeners.ts";
import type { ChargeResult } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import { HeadgateError, invalidOption, invalidValue } from "../common/errors.ts";
import { rejectExtraArgument, rejectUnknownOptions } from "../common/options.ts";
import { WeakList } from "../common/weak-list.ts";
import { requireUnits } from "../policy/costs.ts";
import type { Subjects } from "../policy/counters.ts";
import type { SlotHandle } from "../policy/limiter-decision.ts";
import { slotsOf } from "../policy/limiter-decision.ts";
import type { ConsumeMethods } from "./consume.ts";
import { recordDecision } from "./consume.ts";
import type { Limiter, Meter, MeterOptions } from "./limiter.ts";
import type { LimiterCore } from "./limiter-internals.ts";
import { decisions } from "./published-decision.ts";

/** How long fewer than `every` units wait until they are charged, in milliseconds. */
const CHARGE_AFTER_MS = 250;

const METER_OPTIONS = ["estimate", "every", "limits", "ignoreUnknownDimensions"] as const;

/** What a meter needs of its limiter. */
interface MeterLimiter {
  /** Charges units if every limit of units allows them. */
  charge(units: number): Promise<Decision>;
  /** Brings the charge of the first decision to these units, and releases its slots. */
  settle(units: number): Promise<ChargeResult>;
}

export interface MeterMethods extends Pick<Limiter, "meter"> {
  /** Ends the meters of this limiter for this reason. */
  close(reason: HeadgateError): void;
}

/** The methods that meter streams, of one handle of a limiter. Created for the first stream, so that others cost nothing. */
export function createMeterMethods(
  core: LimiterCore,
  { consume, consumeGroups, policyOf }: ConsumeMethods,
  { settle }: Pick<Limiter, "settle">,
): MeterMethods {
  const { policy, inFlight } = core;
  // A stream that is dropped without `end` must not stay in memory.
  const meters = new WeakList<StreamMeter>();
  let closedFor: HeadgateError | undefined;
  // Further charges take no further slot.
  const unitGroups = policy.groups.filter(({ slotTtl }) => slotTtl === undefined);

  /** Throws for options, and for a policy, that cannot be metered. Returns the estimate. */
  function requireMetered({ every, estimate = every, limits }: MeterOptions): number {
    if (!Number.isSafeInteger(every) || every < 1)
      throw invalidValue("every must be a whole number of units of at least 1", every);
    if (unitGroups.length === 0) {
      throw invalidOption(
        "a meter needs a limit of units; this limiter has concurrency limits only",
      );
    }
    if (policy.blocksOnSettle) {
      throw invalidOption(
        'meter cannot be used with blockOn: "settle", because only one of its charges is settled',
      );
    }
    const { perCallKeyspace, hasSlots } = policyOf(limits);
    if (perCallKeyspace !== undefined && hasSlots) {
      throw invalidOption(
        "the limits of a metered call have another shape than those of the limiter, so they cannot include concurrency: each charge would take a slot",
      );
    }
    return requireUnits("estimate", estimate);
  }

  /** If the slots cannot be released, they expire. */
  async function settleAndRelease(
    decision: Decision,
    slots: SlotHandle | undefined,
    units: number,
  ): Promise<ChargeResult> {
    try {
      return await settle(decision, units);
    } finally {
      await slots?.release().catch(() => false);
    }
  }

  return {
    async meter(subject: Subjects, options: MeterOptions, more?: unknown): Promise<Meter> {
      rejectUnknownOptions("meter", options, METER_OPTIONS);
      rejectExtraArgument("meter(subject, options)", more);
      const estimate = requireMetered(options);
      const { every, limits, ignoreUnknownDimensions } = options;
      const decision = await consume(subject, { cost: estimate, limits, ignoreUnknownDimensions });
      const slots = slotsOf(decision, policy);
      const meter = new StreamMeter(decision, every, {
        async charge(cost) {
          const started = decisions.hasSubscribers ? performance.now() : undefined;
          const charge = { cost, limits, ignoreUnknownDimensions };
          const charged = await consumeGroups(unitGroups, subject, charge, undefined, "charge");
          // A stream counts as one request, and as a denied one if it is ended.
          return charged.allowed ? charged : recordDecision(core, subject, charged, started);
        },
        settle: (units) => inFlight.track(settleAndRelease(decision, slots, units)),
      });
      const weak = new WeakRef(meter);
      slots?.startRenewing(() => weak.deref() !== undefined);
      if (slots !== undefined) {
        addAbortCallback(slots.signal, () => weak.deref()?.abort(slots.signal.reason));
      }
      if (closedFor !== undefined) await meter.close(closedFor);
      else meter.onEnd = meters.add(meter);
      return meter;
    },

    close(reason) {
      closedFor = reason;
      for (const meter of meters) void inFlight.track(meter.close(reason));
    },
  };
}

class StreamMeter implements Meter {
  readonly decision: Decision;
  onEnd: () => void = () => {};
  readonly #every: number;
  readonly #limiter: MeterLimiter;
  readonly #abort = new AbortController();
  /** Units of the stream. */
  #used = 0;
  /** Units that were sent to be charged, whether or not they were. */
  #sent: number;
  /** Units charged after the estimate, in the store or in this process. */
  #charged = 0;
  /** Whether some of these were charged in this process. */
  #isDegraded = false;
  #charging: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ending: Promise<ChargeResult> | undefined;
  #isClosed = false;

  constructor(decision: Decision, every: number, limiter: MeterLimiter) {
    this.decision = decision;
    this.#every = every;
    this.#limiter = limiter;
    this.#sent = decision.cost as number;
    if (!decision.allowed) this.abort(deniedError("the estimate was denied", decision));
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get used(): number {
    return this.#used;
  }

  add(units: number): void {
    const more = requireUnits("units", units);
    // A stream may not know yet that the limiter was closed.
    if (this.#isClosed) return;
    if (this.#ending !== undefined)
      throw new HeadgateError("HEADGATE_CLOSED", "add was called after the end of the meter");
    this.#used = requireUnits("the sum of units", this.#used + more);
    this.#chargeIfDue();
  }

  end(): Promise<ChargeResult> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Ends the meter with its limiter. */
  close(reason: HeadgateError): Promise<unknown> {
    this.#isClosed = true;
    this.abort(reason);
    return this.end().catch(() => {});
  }

  abort(reason: unknown): void {
    clearTimeout(this.#timer);
    this.#abort.abort(reason);
  }

  #chargeIfDue(): void {
    const pending = this.#used - this.#sent;
    if (pending <= 0 || this.#charging !== undefined || this.signal.aborted) return;
    if (pending >= this.#every) this.#charge();
    else this.#timer ??= setTimeout(() => this.#charge(), CHARGE_AFTER_MS).unref();
  }

  /** Charges all units that are due. One call at a time: units that arrive meanwhile are in the next one. */
  #charge(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const units = this.#used - this.#sent;
    this.#sent += units;
    this.#charging = this.#limiter
      .charge(units)
      .then(
        (decision) => {
          // In shadow mode a denied charge ends nothing, and charges nothing; nor does one with `onUnavailable: "allow"`.
          if (decision.wouldAllow && decision.source !== "allow") {
            this.#charged += units;
            this.#isDegraded ||= decision.degraded;
          }
          if (!decision.allowed)
            this.abort(deniedError(`${units} units more were denied`, decision));
        },
        (error) => this.abort(error),
      )
      .then(() => {
        this.#charging = undefined;
        if (this.#ending === undefined) this.#chargeIfDue();
      });
  }

  async #end(): Promise<ChargeResult> {
    this.onEnd();
    clearTimeout(this.#timer);
    await this.#charging;
    const beyond = this.#charged;
    const settled = await this.#limiter.settle(this.#used - beyond);
    return {
      ...settled,
      charged: settled.charged + beyond,
      degraded: settled.degraded || this.#isDegraded,
    };
  }
}

function deniedError(message: string, cause: Decision): HeadgateError {
  return new HeadgateError("HEADGATE_DENIED", message, { cause });
}
