import * as breaker from "@headgate/breaker";
import * as core from "@headgate/core";
import * as admin from "@headgate/core/admin";
import * as http from "@headgate/core/http";
import * as redis from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import * as fetching from "@headgate/fetch";
import * as hono from "@headgate/hono";
import * as nestjs from "@headgate/nestjs";
import * as telemetry from "@headgate/telemetry";
import { createAdminApiClient } from "@shopify/admin-api-client";
import express from "express";
import OpenAI from "openai";
import consume from "./consume.cjs";

await consume({
  core,
  redis,
  http,
  admin,
  breaker,
  fetching,
  sdks: { OpenAI, createAdminApiClient },
  telemetry,
  headgate,
  rateLimit,
  express,
  hono,
  nestjs,
});
