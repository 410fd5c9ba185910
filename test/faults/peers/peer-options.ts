import type { Request } from "express";
import type { FastifyRequest } from "fastify";
import { LIMIT, SUBJECT_HEADER, WINDOW_MS } from "../callers/policy.ts";

/** The same limit in the options of each limiter. */
export const expressRateLimitOptions = {
  limit: LIMIT,
  windowMs: WINDOW_MS,
  keyGenerator: (request: Request) => String(request.headers[SUBJECT_HEADER]),
  // Lets requests pass when the store fails.
  passOnStoreError: true,
  legacyHeaders: true,
  // Its console output would hide the table.
  logger: { warn() {}, error() {} },
};

export const fastifyRateLimitOptions = {
  max: LIMIT,
  timeWindow: WINDOW_MS,
  keyGenerator: (request: FastifyRequest) => String(request.headers[SUBJECT_HEADER]),
  // Lets requests pass when the store fails.
  skipOnError: true,
};

export const flexibleOptions = { points: LIMIT, duration: WINDOW_MS / 1_000 };
