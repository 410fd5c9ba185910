// On Express: the limiter throws the API's error, and the API's error handler answers it as any other.

import { byHeader, rateLimit } from "@headgate/express";
import type { ErrorRequestHandler, Express } from "express";
import express from "express";
import { ApiError, denied, perWorkspace, toApiError } from "./api-error.ts";

const answerError: ErrorRequestHandler = (error, _req, res, next) => {
  if (res.headersSent) return next(error);
  const answer = toApiError(error);
  res.status(answer.statusCode).json(answer);
};

export function createApp(): Express {
  const app = express();

  app.use(
    rateLimit({
      limits: perWorkspace,
      key: { workspace: byHeader("authorization") },
      // Clients that moved from @upstash/ratelimit read the reset in milliseconds since 1970.
      headers: { reset: "epoch-ms" },
      onDenied(_req, _res, decision) {
        throw denied(decision);
      },
    }),
  );

  app.get("/links/:id", (req, res) => {
    if (req.params.id !== "github") throw new ApiError("not_found", "Link not found.");
    res.json({ url: "https://github.com" });
  });

  app.use(answerError);
  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) createApp().listen(3000);
