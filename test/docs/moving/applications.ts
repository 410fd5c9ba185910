import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript5";
import { inject, onTestFinished } from "vitest";
import type { Page } from "../markdown.ts";
import { ROOT } from "../markdown.ts";
import { atHome } from "../snippets.ts";

/** One set-up of a page, as it is with the other limiter and with Headgate. */
export interface SetUp {
  readonly heading: string;
  /** A program that ends in `app.listen(3000)`. */
  readonly before: string;
  readonly after: string;
}

/** The sections of a page that have a snippet after "Before:" and one after "After:". */
export function setUpsOf({ text }: Page): SetUp[] {
  return text.split(/^##+ /m).flatMap((part) => {
    const [, before, after] =
      /^Before:\n\n```ts\n([\s\S]*?)^```\n\nAfter:\n\n```ts\n([\s\S]*?)^```$/m.exec(part) ?? [];
    if (before === undefined || after === undefined) return [];
    return [{ heading: part.slice(0, part.indexOf("\n")), before, after }];
  });
}

/** Serves an application of a page, on the packages as they are built, until the test ends. Resolves with its URL. */
export async function serve(program: string): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "headgate-moving-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  const { outputText } = ts.transpileModule(program, {
    compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
  });
  const script = atHome(outputText, inject("redisSocket"));
  const file = join(dir, "application.mjs");
  writeFileSync(file, script.replace(/^app\.listen/m, "export const server = app.listen"));
  const { server } = (await import(pathToFileURL(file).href)) as { server: Server };
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  if (!server.listening) await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
