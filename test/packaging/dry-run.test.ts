import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { ROOT } from "../docs/markdown.ts";
import { NewcomerFolder } from "./newcomer-folder.ts";

// What a release would publish, installed by npm into an empty project, and started there as each kind of program.

/** The program: two applications answer three requests each, a breaker and a limited fetch make a call, and everything is closed. */
const PROGRAM = `
async function main() {
  const telemetry = observe(new Registry());
  const app = express();
  app.use(rateLimit({ limits: gcra({ limit: 2, window: "1h" }) }));
  const redis = new Redis({ lazyConnect: true });
  app.use("/limits", dashboard({ store: redisStore(redis), authorize: () => false }));
  app.get("/", (_req, res) => {
    res.json({});
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const api = Fastify();
  api.register(headgate, { limits: gcra({ limit: 2, window: "1h" }) });
  api.get("/", async () => ({}));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const origins = [\`http://127.0.0.1:\${address.port}\`, await api.listen({ host: "127.0.0.1", port: 0 })];
  const statuses = [];
  for (const origin of origins.flatMap((one) => [one, one, one])) statuses.push((await fetch(origin)).status);
  const breaker = createBreaker();
  statuses.push(await breaker.run(async () => 204));
  const send = limitFetch({ limits: gcra({ limit: 2, window: "1h" }), retries: 0 });
  statuses.push((await send(origins[0])).status);
  await send.limiter.close();
  console.log(JSON.stringify(statuses));
  telemetry.stop();
  redis.disconnect();
  server.close();
  server.closeAllConnections();
  await api.close();
}
void main();
`;

const IMPORTS = [
  ["{ once }", "node:events"],
  ["{ createBreaker }", "@headgate/breaker"],
  ["{ redisStore }", "@headgate/core/redis"],
  ["{ limitFetch }", "@headgate/fetch"],
  ["{ dashboard }", "@headgate/dashboard/express"],
  ["{ gcra, rateLimit }", "@headgate/express"],
  ["headgate", "@headgate/fastify"],
  ["{ observe }", "@headgate/telemetry"],
  ["express", "express"],
  ["Fastify", "fastify"],
  ["{ Redis }", "ioredis"],
  ["{ Registry }", "prom-client"],
] as const;

const imported = IMPORTS.map(([names, from]) => `import ${names} from "${from}";\n`).join("");
const required = IMPORTS.map(([names, from]) => `const ${names} = require("${from}");\n`).join("");

/** The ways to write and to start the program. */
const FORMATS = {
  "ES modules": { file: "es/main.mjs", text: imported, start: "node es/main.mjs" },
  CommonJS: { file: "cjs/main.cjs", text: required, start: "node cjs/main.cjs" },
  "TypeScript, as ES modules": {
    file: "ts-es/main.mts",
    text: imported,
    start: "node_modules/.bin/tsc -p ts-es && node ts-es/main.mjs",
  },
  "TypeScript, as CommonJS": {
    file: "ts-cjs/main.cts",
    text: imported,
    start: "node_modules/.bin/tsc -p ts-cjs && node ts-cjs/main.cjs",
  },
} as const;

const OPTIONS = {
  module: "nodenext",
  target: "es2022",
  strict: true,
  types: ["node"],
  skipLibCheck: true,
};

const OTHERS = [
  "express",
  "fastify",
  "prom-client",
  "ioredis",
  "typescript",
  "@types/node",
  "@types/express",
];

let folder: NewcomerFolder;

beforeAll(async () => {
  folder = new NewcomerFolder("redis://127.0.0.1:1");
  await folder.install(OTHERS, inject("tarballs"));
}, 180_000);

afterAll(() => folder.remove());

test.each(Object.entries(FORMATS))(
  "an application starts with the packed packages as %s",
  async (_name, { file, text, start }) => {
    const dir = join(folder.dir, file, "..");
    mkdirSync(dir);
    writeFileSync(join(folder.dir, file), text + PROGRAM);
    writeFileSync(
      join(dir, "tsconfig.json"),
      JSON.stringify({ compilerOptions: { ...OPTIONS, esModuleInterop: true } }),
    );
    const { stdout, stderr, exitCode } = await folder.run(start);
    expect({ stdout, stderr, exitCode }).toEqual({
      stdout: "[200,200,429,200,200,429,204,429]\n",
      stderr: "",
      exitCode: 0,
    });
  },
);

test("the packed command starts", async () => {
  const { stdout, exitCode } = await folder.run("npx headgate --version");
  const { version } = JSON.parse(readFileSync(join(ROOT, "packages/cli/package.json"), "utf8"));
  expect({ stdout, exitCode }).toEqual({ stdout: `${version}\n`, exitCode: 0 });
});
