/** Whether a call may be made; a trial call holds its lease until it is reported, or the lease ends. */
export type CallDecision =
  | { readonly kind: "rejected" }
  | { readonly kind: "allowed" }
  | { readonly kind: "trial"; readonly leaseId: number };

/* Constants, so that a decision that is no trial call allocates nothing. */
export const REJECTED: CallDecision = { kind: "rejected" };
export const ALLOWED: CallDecision = { kind: "allowed" };
