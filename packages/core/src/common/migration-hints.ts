/** Options of other rate limiters, with Headgate's equivalent. */
export const LIMITER_OPTION_HINTS: Readonly<Record<string, string>> = {
  max: "limits: fixedWindow({ limit, window })",
  limit: "limits: fixedWindow({ limit, window })",
  points: "limits: fixedWindow({ limit, window })",
  windowMs: "limits: fixedWindow({ limit, window })",
  timeWindow: "limits: fixedWindow({ limit, window })",
  duration: "limits: fixedWindow({ limit, window })",
  throttlers: "limits: [slidingLog({ limit, window }), ...]",
  ttl: "limits: slidingLog({ limit, window })",
  maxConcurrent: "limits: concurrency({ limit, ttl })",
  activeLimit: "limits: concurrency({ limit, ttl })",
  redis: "store: redisStore(client)",
  storeClient: "store: redisStore(client)",
  db: "store: redisStore(client)",
  storage: "store: redisStore(client)",
  keyPrefix: "name",
  nameSpace: "name, and store: redisStore(client, { prefix })",
  identifier: "the name of a limit, as in fixedWindow({ limit, window, name })",
  ban: 'block: { after, for } of a limit, where ban: 2 is block: { after: 3, for: "1h" }',
  block: 'block of a limit, as in fixedWindow({ limit, window, block: "1h" })',
  blockDuration: 'block of a limit, as in fixedWindow({ limit, window, block: "1h" })',
  penaltyBox: 'block of a limit, as in fixedWindow({ limit, window, block: "1h" })',
  exponentialBackoff: 'a list of blocks of a limit, as in block: ["1m", "10m", "1h"]',
  minWait: 'the first block of a limit, as in block: ["1m", "10m", "1h"]',
  maxWait: 'the last block of a limit, as in block: ["1m", "10m", "1h"]',
  lifetime: "the window of the limit: a level is forgotten when it has passed without a block",
  continueExceeding:
    'block of a limit, longer each time, as in block: { after: 10, for: ["1m", "10m", "1h"] }',
  dryRun: "shadow",
  cache: "store: memoryStore({ maxKeys })",
  inMemoryBlockOnConsumed:
    "block: { after, for } of a limit, where after is inMemoryBlockOnConsumed - points, or denyCache, which is on, where it only saves calls",
  passOnStoreError: 'onUnavailable: "allow"',
  skipOnError: 'onUnavailable: "allow"',
  insuranceLimiter: 'onUnavailable: "local"',
  blockOnConsumed: "block: { after, for } of a limit, where after is blockOnConsumed - points",
  inMemoryBlockDuration: "block: { after, for } of a limit, where for is the duration",
  timeoutMs: "storeTimeout",
  rejectIfRedisNotReady: "storeTimeout, within which every call is answered",
  rejectIfValkeyNotReady: "storeTimeout, within which every call is answered",
  useRedisPackage: "store: redisStore(client), which knows a client by its methods",
  useRedis3AndLowerPackage: "store: redisStore(client), which knows a client by its methods",
  execEvenly: "limiter.wait(subject), with gcra({ limit, window, burst: 1 })",
  execEvenlyMinDelayMs: "limiter.wait(subject), with gcra({ limit, window, burst: 1 })",
  maxQueueSize: "maxQueue",
};

/** The same for the options that only adapters have. */
const REQUEST_OPTION_HINTS: Readonly<Record<string, string>> = {
  keyGenerator: "key: (request) => ...",
  getTracker: "key: (request) => ...",
  id: "key: (request) => ...",
  ipv6Subnet: "key: byIp({ ipv6Prefix })",
  ipv6SubnetPrefix: "key: byIp({ ipv6Prefix })",
  generateKey: "key: (request) => ...",
  groupId: "one name for all who share the limit",
  handler: "onDenied",
  message: "onDenied",
  statusCode: "onDenied, which sends the answer with its status",
  retryAfter: "onDenied, which may set the header",
  errorMessage: "onDenied, or in NestJS a filter that catches Rejected",
  errorResponseBuilder: "onDenied",
  onExceeded: "onDenied",
  onLimited: "onDenied",
  throw: 'onDenied: "error"',
  standardHeaders: "headers: { standard }",
  legacyHeaders: "headers: { legacy }",
  addHeaders: "headers",
  disableHeader: "headers: false",
  setHeaders: "headers: false",
  addHeadersOnExceeding: "headers",
  enableDraftSpec: 'headers: { legacy: "ratelimit" }',
  requestPropertyName: "limit.decisionOf(request), for each limiter by itself",
  skipSuccessfulRequests: 'count: "failed"',
  skipFailedRequests: 'count: "succeeded"',
  requestWasSuccessful:
    "count, a function that returns whether a request counts: !requestWasSuccessful(request, response) for skipSuccessfulRequests, and requestWasSuccessful(request, response) for skipFailedRequests",
  skipIf: "skip: (request) => ...",
  ignoreUserAgents: "skip: (request) => ...",
  whitelist: "allowList",
  whiteList: "allowList",
  isWhiteListed: "allowList: (request, address) => ...",
  blacklist: "denyList",
  blackList: "denyList",
  isBlackListed: "denyList: (request, address) => ...",
  global: "to register without limits: then only routes with limits of their own are limited",
  delayAfter: "a middleware that delays by limit.decisionOf(request).decision.remaining",
  delayMs: "a middleware that delays by limit.decisionOf(request).decision.remaining",
  maxDelayMs: "a middleware that delays by limit.decisionOf(request).decision.remaining",
  freeRetries:
    'limits: fixedWindow({ limit, window, block }), whose limit are the free tries, and count: "failed"',
  onExceeding: "to subscribe to headgate:decision",
  onBanReach: "to subscribe to headgate:decision, where decision.blocked is set",
};

/** Options of other libraries whose equivalent differs if they are a function of the request. */
const FUNCTION_HINTS: Readonly<Record<string, string>> = {
  max: "limits: perRequest(fixedWindow({ limit, window }), (request) => ...)",
  limit: "limits: perRequest(fixedWindow({ limit, window }), (request) => ...)",
  timeWindow: "limits: byTier(tiers, (request) => ...), because each window counts for itself",
};

/** Headgate's equivalents for the given options of other libraries. Calls no getter: Headgate does not know these options. */
export function migrationHintsFor(raw: object): Readonly<Record<string, string>> {
  const functions = Object.entries(FUNCTION_HINTS).filter(
    ([name]) => typeof Object.getOwnPropertyDescriptor(Object(raw), name)?.value === "function",
  );
  return { ...LIMITER_OPTION_HINTS, ...REQUEST_OPTION_HINTS, ...Object.fromEntries(functions) };
}
