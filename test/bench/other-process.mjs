import { fork } from "node:child_process";
import { once } from "node:events";

const ends = new Set();
process.once("exit", () => {
  for (const end of ends) end();
});

/** Starts a module in a child process that ends with this one. `call` calls a function that the module passed to `answer`. */
export async function startProcess(file, setup, execArgv = []) {
  const child = fork(file, [JSON.stringify(setup)], { execArgv });
  const end = () => child.kill("SIGKILL");
  ends.add(end);
  const waiting = new Map();
  let lastId = 0;
  child.on("message", ({ id, value, error }) => {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error === undefined) resolve?.(value);
    else reject?.(new Error(`${JSON.stringify(setup)}: ${error}`));
  });
  child.on("exit", () => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended`));
  });

  function call(name, ...args) {
    lastId += 1;
    child.send({ id: lastId, name, args });
    return new Promise((resolve, reject) => waiting.set(lastId, { resolve, reject }));
  }

  async function close() {
    ends.delete(end);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    end();
    await exit;
  }

  await call("ready");
  return { call, close };
}

/** In the child process: returns the arguments of its start. */
export function readSetup() {
  return JSON.parse(process.argv[2]);
}

/** In the child process: answers calls with these functions. */
export function answer(questions) {
  const all = { ready: () => {}, ...questions };
  async function reply({ id, name, args }) {
    try {
      process.send({ id, value: await all[name](...args) });
    } catch (error) {
      process.send({ id, error: String(error?.stack ?? error) });
    }
  }
  process.on("message", (question) => void reply(question));
  // The parent process has ended.
  process.on("disconnect", () => process.exit());
}
