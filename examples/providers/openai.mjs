// An API of language models as OpenAI documents its limits: requests and tokens per minute.
// https://platform.openai.com/docs/guides/rate-limits

import { Buckets } from "./limits.mjs";
import { credentialOf, startMockApi } from "./mock-api.mjs";

/** What every answer says. */
const WORDS = ["The", " anvil", " has", " been", " shipped", "."];

/**
 * Starts it.
 * @param {object} [options]
 * @param {number} [options.requests] Requests in a window.
 * @param {number} [options.tokens] Tokens in a window: an estimate of the prompt, and `max_tokens`.
 * @param {number} [options.windowMs] Units come back little by little, all of them in this time.
 * @param {boolean} [options.givesRetryAfter] Whether a refusal has `Retry-After` and `Retry-After-Ms`.
 * @param {number} [options.latencyMs] Also the time between two parts of a stream.
 */
export async function startOpenAi({
  requests = 500,
  tokens = 30_000,
  windowMs = 60_000,
  givesRetryAfter = true,
  latencyMs,
} = {}) {
  const byRequests = new Buckets(requests, (requests / windowMs) * 1_000);
  const byTokens = new Buckets(tokens, (tokens / windowMs) * 1_000);
  let id = 0;

  const api = await startMockApi(
    (request) => {
      const { body, at } = request;
      const credential = credentialOf(request);
      const given = parse(body);
      const words = given["messages"] ?? given["input"] ?? "";
      const prompt = Math.ceil(JSON.stringify(words).length / 4);
      const needed = prompt + Number(given["max_tokens"] ?? given["max_completion_tokens"] ?? 16);
      id += 1;
      // "Unsuccessful requests contribute to your per-minute limit": one without enough tokens still takes a request.
      const ofRequests = byRequests.take(credential, 1, at);
      const ofTokens = byTokens.take(credential, ofRequests.isTaken ? needed : 0, at);
      const headers = {
        "x-request-id": `req_${id}`,
        ...budget("requests", byRequests.size, ofRequests),
        ...budget("tokens", byTokens.size, ofTokens),
      };
      const refused = !ofRequests.isTaken ? ofRequests : !ofTokens.isTaken ? ofTokens : undefined;
      if (refused !== undefined) {
        const type = refused === ofRequests ? "requests" : "tokens";
        const waitMs = Math.ceil(refused.waitMs);
        const retry = {
          "retry-after-ms": String(waitMs),
          "retry-after": String(Math.ceil(waitMs / 1_000)),
        };
        return {
          status: 429,
          headers: { ...headers, ...(givesRetryAfter && retry) },
          body: {
            error: {
              message: `Rate limit reached for mock on ${type} per min. Please try again in ${duration(waitMs)}.`,
              type,
              param: null,
              code: "rate_limit_exceeded",
            },
          },
        };
      }
      return completion(given, { id: `chatcmpl-${id}`, prompt, headers });
    },
    { latencyMs },
  );
  return Object.assign(api, { byRequests, byTokens });
}

/** @param {string} body @returns {Record<string, any>} */
function parse(body) {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

/** @param {string} unit @param {number} size @param {import("./limits.mjs").Count} count */
function budget(unit, size, { remaining, resetMs }) {
  return {
    [`x-ratelimit-limit-${unit}`]: String(size),
    [`x-ratelimit-remaining-${unit}`]: String(Math.floor(remaining)),
    [`x-ratelimit-reset-${unit}`]: duration(resetMs),
  };
}

/** `12ms`, `1.5s`, `6m0s`. @param {number} ms */
function duration(ms) {
  if (ms < 1_000) return `${Math.ceil(ms)}ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${Number(seconds.toFixed(3))}s`;
  return `${Math.floor(seconds / 60)}m${Math.floor(seconds % 60)}s`;
}

/**
 * A chat completion, as a stream if the request wants one.
 * @param {Record<string, any>} given @param {{ id: string, prompt: number, headers: Record<string, string> }} answer
 * @returns {import("./mock-api.mjs").ApiAnswer}
 */
function completion(given, { id, prompt, headers }) {
  const common = { id, created: Math.floor(Date.now() / 1_000), model: given["model"] ?? "mock" };
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: WORDS.length,
    total_tokens: prompt + WORDS.length,
  };
  if (given["stream"] !== true) {
    const message = { role: "assistant", content: WORDS.join("") };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return { headers, body: { ...common, object: "chat.completion", choices, usage } };
  }
  const object = "chat.completion.chunk";
  const parts = WORDS.map((content) => ({
    ...common,
    object,
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  }));
  const end = { ...common, object, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  const withUsage = given["stream_options"]?.include_usage === true;
  const events = [...parts, end, ...(withUsage ? [{ ...common, object, choices: [], usage }] : [])];
  const chunks = [...events.map((event) => JSON.stringify(event)), "[DONE]"];
  return { headers, chunks: chunks.map((data) => `data: ${data}\n\n`) };
}
