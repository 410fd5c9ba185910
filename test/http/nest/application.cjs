// An application of Nest that runs in its own process: prints the answers, and ends when nothing keeps it.
require("reflect-metadata");
const { Controller, Get, Module } = require("@nestjs/common");
const { NestFactory } = require("@nestjs/core");
const { version } = require("@nestjs/core/package.json");
const { FastifyAdapter } = require("@nestjs/platform-fastify");
const { fixedWindow, HeadgateModule, RateLimit, SkipRateLimit } = require("@headgate/nestjs");

class Pages {
  home() {
    return "home";
  }
  search() {
    return "search";
  }
  health() {
    return "well";
  }
}
const hourly = (limit, name) => fixedWindow({ limit, window: "1h", name });
const decorators = {
  home: [Get()],
  search: [Get("search"), SkipRateLimit(), RateLimit({ limits: hourly(1, "search") })],
  health: [Get("health"), SkipRateLimit()],
};
for (const [name, all] of Object.entries(decorators)) {
  const descriptor = Object.getOwnPropertyDescriptor(Pages.prototype, name);
  for (const decorate of all) decorate(Pages.prototype, name, descriptor);
}
Controller()(Pages);
class Application {}
Module({ imports: [HeadgateModule.forRoot({ limits: hourly(3, "all") })], controllers: [Pages] })(
  Application,
);

async function run() {
  const options = { logger: false, forceCloseConnections: true };
  const app =
    process.argv[2] === "fastify"
      ? await NestFactory.create(Application, new FastifyAdapter(), options)
      : await NestFactory.create(Application, options);
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address();
  const sendRequest = async (path, count) => {
    const answers = [];
    for (let i = 0; i < count; i += 1) answers.push(await fetch(`http://127.0.0.1:${port}${path}`));
    return answers;
  };
  const statusesOf = (answers) => answers.map(({ status }) => status);
  const home = await sendRequest("/", 4);
  const search = statusesOf(await sendRequest("/search", 2));
  const health = statusesOf(await sendRequest("/health", 4));
  const denied = home.at(-1).headers.get("content-type");
  await app.close();
  console.log(JSON.stringify({ version, home: statusesOf(home), search, health, denied }));
}
void run();
