/** A server whose processor is this busy still answers at once; more is for bursts, and for what else it does. */
const BUSY_AT_MOST = 0.5;

/** Calls of a decision: one where all its counters are in one slot; otherwise one per hash slot to read its counters, and one to charge them. */
function callsOf(slots) {
  return slots === 1 ? 1 : 2 * slots;
}

/** The load of decisions on all servers together, per second, if each decision makes its own calls. */
export function calculate({ costs }, { policy, perSecond, slots = 1, isCalm = false }) {
  const { cpu, input, output } = costs[policy];
  const calls = perSecond * callsOf(slots);
  // Of several slots each counts its own limits: a decision's part in each call is less than the whole.
  const total = ({ call, decision, wake = 0 }) => calls * (call + decision + (isCalm ? wake : 0));
  return { calls, cores: total(cpu) / 1e6, input: total(input), output: total(output) };
}

/** Servers that share them, by their processors. */
export function serversFor(cores) {
  return Math.max(1, Math.ceil(cores / BUSY_AT_MOST));
}

/** Decisions a second that one server takes, and is half busy. */
export function capacityOf({ costs }, policy, perCall = 1) {
  const { call, decision } = costs[policy].cpu;
  return (BUSY_AT_MOST * 1e6) / (call / perCall + decision);
}
