// NestJS: each client address gets 5 requests and a new one every 12 seconds, and some routes and resolvers also have their own limits.
//
//   npx -y pnpm@10.34.9 build
//   node examples/nestjs/server.mjs           (PROXIES=10.0.0.7 trusts X-Forwarded-For of that proxy)
//   curl -i http://localhost:3000/search      (three times)
//   curl -i http://localhost:3000/graphql -H "content-type: application/json" -d '{"query":"{ search(text: \"x\") }"}'

import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { Application } from "./application.mjs";

/** @type {import("@nestjs/platform-express").NestExpressApplication} */
const app = await NestFactory.create(Application, { logger: ["error", "warn"] });

// Nest's request is Express's, and so is its trust in proxies.
app.set("trust proxy", process.env["PROXIES"]?.split(",") ?? false);
app.enableShutdownHooks();

await app.listen(Number(process.env["PORT"] ?? 3000));
const { port } = /** @type {import("node:net").AddressInfo} */ (app.getHttpServer().address());
console.log(`listening on http://127.0.0.1:${port}`);
