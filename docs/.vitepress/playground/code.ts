import { optionsOf } from "./options.ts";
import type { Setting } from "./setting.ts";

/** Where the code goes. */
export const PLACES = ["Express", "Fastify", "A function"] as const;

export type Place = (typeof PLACES)[number];

/** The code that limits as the playground shows. */
export function formatCode(setting: Setting, place: Place): string {
  const { algorithm } = setting;
  const options = Object.entries(optionsOf(setting)).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}`,
  );
  const limits = `${algorithm}({ ${options.join(", ")} })`;
  const code = {
    Express: `import { ${[algorithm, "rateLimit"].sort().join(", ")} } from "@headgate/express";

app.use(rateLimit({ limits: ${limits} }));
`,
    Fastify: `import headgate, { ${algorithm} } from "@headgate/fastify";

app.register(headgate, { limits: ${limits} });
`,
    "A function": `import { ${["createLimiter", "memoryStore", algorithm].sort().join(", ")} } from "@headgate/core";

const limiter = createLimiter({
  name: "api",
  store: memoryStore(),
  limits: ${limits},
});

const { allowed, retryAfterMs } = await limiter.consume("client");
`,
  };
  return code[place];
}
