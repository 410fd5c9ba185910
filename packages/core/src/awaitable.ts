/** A value that may be known already: where the answer is in this process, nothing is awaited. */
export type Awaitable<Value> = Value | Promise<Value>;
