import { execFileSync } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { codeIn, page, section, tablesOf } from "../docs/markdown.ts";

const root = join(import.meta.dirname, "../..");
const { engines, scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly strategy?: { readonly matrix: { readonly node: readonly number[] } };
        readonly permissions?: Readonly<Record<string, string>>;
        readonly steps: readonly {
          readonly run?: string;
          readonly with?: Readonly<Record<string, string>>;
          readonly env?: Readonly<Record<string, string>>;
        }[];
      }
    >
  >;
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly {
    readonly type: string;
    readonly id: string;
    readonly attributes: { readonly label: string };
  }[];
}

function read<T>(...path: readonly string[]): T {
  return parse(readFileSync(join(root, ".github", ...path), "utf8"), { strict: true });
}

describe.each(readdirSync(join(root, ".github/workflows")))("the workflow %s", (file) => {
  const { jobs, permissions } = read<Workflow>("workflows", file);
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  test("runs what exists", () => {
    const commands = steps.flatMap((step) => [
      ...(step.run === undefined ? [] : [step.run]),
      ...["version", "publish"].flatMap((name) => step.with?.[name] ?? []),
    ]);
    expect(commands).not.toEqual([]);
    for (const command of commands) {
      const [program = "", script = ""] = command.split(" ");
      if (program.startsWith(".")) accessSync(join(root, program), constants.X_OK);
      if (program === "pnpm" && script !== "install") expect(scripts).toHaveProperty(script);
    }
  });

  test("may write nothing, unless a job asks for it", () => {
    expect(Object.values(permissions)).not.toContain("write");
  });
});

test("CI runs on every major version of Node that a new release supports, from the oldest on", () => {
  const versions = read<Workflow>("workflows", "ci.yml").jobs["check"]?.strategy?.matrix.node;
  const [, oldest] = /^>=(\d+)/.exec(engines.node) ?? [];
  expect(versions?.[0]).toBe(Number(oldest));
});

describe("the page of versions", () => {
  const versions = page("docs/reference/versions.md");
  const cells = (heading: string): readonly (readonly string[])[] =>
    tablesOf(section(versions, heading)).flatMap(({ rows }) => rows);
  const peers = (name: string): Readonly<Record<string, string>> =>
    JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")).peerDependencies;

  test("names the versions of Node that CI runs on, and the oldest that the packages take", () => {
    const { node } = read<Workflow>("workflows", "ci.yml").jobs["check"]?.strategy?.matrix ?? {};
    expect(cells("Node").map(([version]) => Number(version))).toEqual(node);
    expect(cells("Node")[0]?.[1]).toBe(`${engines.node.slice(2)} or later`);
  });

  test("names the versions that the packages ask for", () => {
    const asked = [...cells("Frameworks"), ...cells("Metrics")];
    const ranges = asked.map(([, range]) => codeIn(range ?? "")[0]?.replaceAll("\\|", "|"));
    const { express } = peers("express");
    const { "prom-client": prom, "@opentelemetry/api": api } = peers("telemetry");
    expect(ranges).toEqual([peers("fastify")["fastify"], express, prom, api]);
  });

  test("names the versions of Redis clients that the tests run on", () => {
    const tested = {
      ioredis: ["ioredis5", "ioredis"],
      iovalkey: ["iovalkey"],
      "node-redis": ["redis5", "redis"],
    };
    const rows = Object.entries(tested).map(([client, packages]) => [
      client,
      packages.map(majorOf).join(", "),
    ]);
    expect(cells("Redis clients").map(([client, range]) => [client, range])).toEqual(rows);
  });
});

/** `6` of 6.0.1, and `0.4` of 0.4.2: what may break what was there. */
function majorOf(name: string): string {
  const { version } = JSON.parse(
    readFileSync(join(root, "node_modules", name, "package.json"), "utf8"),
  );
  return /^(?:0\.)?\d+/.exec(version)?.[0] ?? "";
}

test("the address of the repository is in one place, and is no example", () => {
  const all = readdirSync(join(root, "packages")).map((name) => [`packages/${name}`, name]);
  const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(JSON.stringify(repository ?? "")).not.toContain("example");
  for (const [directory] of all) {
    const own = JSON.parse(readFileSync(join(root, directory as string, "package.json"), "utf8"));
    const expected = repository && { ...repository, directory };
    expect(own.repository, directory).toEqual(expected);
  }
});

test("the command is linked before anything is built: its file is in the repository", () => {
  const { bin } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));
  for (const path of Object.values<string>(bin)) {
    const file = join(root, "packages/cli", path);
    const listed = execFileSync("git", ["ls-files", file], { cwd: root, encoding: "utf8" });
    expect(listed.trim(), path).toBe(`packages/cli/${path}`);
    accessSync(file, constants.X_OK);
    expect(readFileSync(file, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  }
});

test("a release says where it comes from", () => {
  const { release } = read<Workflow>("workflows", "release.yml").jobs;
  expect(release?.permissions).toMatchObject({ "id-token": "write" });
  expect(release?.steps.at(-1)?.env).toMatchObject({ NPM_CONFIG_PROVENANCE: "true" });
});

const FORMS = readdirSync(join(root, ".github/ISSUE_TEMPLATE")).filter(
  (file) => file !== "config.yml",
);

test.each(FORMS)("the form %s asks questions that GitHub can show", (file) => {
  const { name, description, body } = read<Form>("ISSUE_TEMPLATE", file);
  expect([name, description]).not.toContain("");
  expect(new Set(body.map(({ id }) => id)).size).toBe(body.length);
  for (const { type, attributes } of body) {
    expect(["textarea", "input", "dropdown"]).toContain(type);
    expect(attributes.label).toBeTruthy();
  }
});
