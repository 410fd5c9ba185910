import { execFileSync, spawnSync } from "node:child_process";
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
        readonly needs?: string | readonly string[];
        readonly environment?: string;
        readonly steps: readonly {
          readonly uses?: string;
          readonly run?: string;
          readonly with?: Readonly<Record<string, string | number | boolean>>;
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

  test("runs only existing commands", () => {
    const commands = steps.flatMap((step) => [
      ...(step.run === undefined ? [] : [step.run]),
      ...(step.uses?.startsWith("changesets/") ? [String(step.with?.["version"])] : []),
    ]);
    for (const command of commands) {
      const [program = "", script = ""] = command.split(" ");
      if (program.startsWith(".")) accessSync(join(root, program), constants.X_OK);
      if (program === "pnpm" && script !== "install") expect(scripts).toHaveProperty(script);
    }
  });

  test("has steps", () => {
    expect(steps).not.toEqual([]);
  });

  test("has no write permission unless a job needs it", () => {
    expect(Object.values(permissions)).not.toContain("write");
  });

  test("pins actions to a commit, with the version in a comment", () => {
    const text = readFileSync(join(root, ".github/workflows", file), "utf8");
    const uses = [...text.matchAll(/uses: (.+)$/gm)].map(([, action]) => action);
    expect(uses.length).toBe(steps.filter((step) => step.uses !== undefined).length);
    for (const action of uses) expect(action).toMatch(/^[\w/-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("persists no credentials, and restores no cache of another branch", () => {
    const settings = (action: string) =>
      steps.filter((step) => step.uses?.startsWith(`actions/${action}@`)).map((step) => step.with);
    for (const one of settings("checkout"))
      expect(one).toMatchObject({ "persist-credentials": false });
    for (const one of settings("setup-node")) {
      expect(one).toMatchObject({ "package-manager-cache": false });
    }
    const secrets = JSON.stringify(jobs).match(/secrets\.\w+/g) ?? [];
    expect([...new Set(secrets)].filter((secret) => secret !== "secrets.GITHUB_TOKEN")).toEqual([]);
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

  test("names the peer versions of the packages", () => {
    const compatible = [...cells("Frameworks"), ...cells("Metrics")];
    const ranges = compatible.map(([, range]) => codeIn(range ?? "")[0]?.replaceAll("\\|", "|"));
    const { express } = peers("express");
    const { hono } = peers("hono");
    const { "@nestjs/common": nest } = peers("nestjs");
    const { "prom-client": prom, "@opentelemetry/api": api } = peers("telemetry");
    expect(ranges).toEqual([peers("fastify")["fastify"], express, hono, nest, prom, api]);
  });

  test("names the versions of undici and of SDKs that calls to others are tested with", () => {
    const named = codeIn(section(versions, "Calls to others"));
    expect(named).toContain(peers("fetch")["undici"]);
    const text = section(versions, "Calls to others").replaceAll(/\s+/g, " ");
    for (const sdk of ["octokit", "openai", "@shopify/admin-api-client"]) {
      expect(text).toContain(`\`${sdk}\` ${majorOf(sdk)}`);
    }
  });

  test("names the versions of Redis clients that the tests run on", () => {
    const tested = {
      ioredis: ["ioredis5", "ioredis"],
      iovalkey: ["iovalkey"],
      "node-redis": ["redis5", "redis"],
      "Valkey GLIDE": ["@valkey/valkey-glide"],
    };
    const rows = Object.entries(tested).map(([client, packages]) => [
      client,
      packages.map(majorOf).join(", "),
    ]);
    expect(cells("Redis clients").map(([client, range]) => [client, range])).toEqual(rows);
  });
});

/** The part of a version that changes with a breaking change: `6` of 6.0.1, and `0.4` of 0.4.2. */
function majorOf(name: string): string {
  const { version } = JSON.parse(
    readFileSync(join(root, "node_modules", name, "package.json"), "utf8"),
  );
  return /^(?:0\.)?\d+/.exec(version)?.[0] ?? "";
}

test("the repository's address is in one place, and is no example", () => {
  const all = readdirSync(join(root, "packages")).map((name) => [`packages/${name}`, name]);
  const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(JSON.stringify(repository ?? "")).not.toContain("example");
  for (const [directory] of all) {
    const own = JSON.parse(readFileSync(join(root, directory as string, "package.json"), "utf8"));
    const expected = repository && { ...repository, directory };
    expect(own.repository, directory).toEqual(expected);
  }
});

test("the command can be linked before a build", () => {
  const { bin } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));
  for (const path of Object.values<string>(bin)) {
    const file = join(root, "packages/cli", path);
    const listed = execFileSync("git", ["ls-files", file], { cwd: root, encoding: "utf8" });
    expect(listed.trim(), path).toBe(`packages/cli/${path}`);
    accessSync(file, constants.X_OK);
    expect(readFileSync(file, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  }
});

describe("a release", () => {
  const { jobs } = read<Workflow>("workflows", "release.yml");
  const mayPublish = Object.entries(jobs).filter(
    ([, { permissions = {} }]) => permissions["id-token"] === "write",
  );

  test("is published by one job that a person approves and that runs only npm", () => {
    expect(mayPublish.map(([name]) => name)).toEqual(["stage"]);
    const [[, job]] = mayPublish as [[string, Workflow["jobs"][string]]];
    expect(job.permissions).toEqual({ "id-token": "write" });
    expect(job).toMatchObject({ environment: "npm", needs: "pack" });
    const actions = job.steps.flatMap(({ uses = "" }) => uses.split("@")[0] || []);
    expect(actions).toEqual(["actions/setup-node", "actions/download-artifact"]);
    const commands = job.steps.flatMap(({ run = [] }) => run);
    expect(commands[0]).toMatch(/^npm install --global npm@\d+\.\d+\.\d+$/);
    expect(commands).toHaveLength(2);
  });

  test("is staged for a maintainer's approval, with provenance", () => {
    const runs = Object.values(jobs).flatMap(({ steps }) => steps);
    const publishing = runs.filter(({ run = "" }) => /\bpublish\b/.test(run));
    expect(publishing).toHaveLength(1);
    expect(publishing[0]?.run).toContain('npm stage publish "./$package" --access public');
    expect(publishing[0]?.env).toEqual({ NPM_CONFIG_PROVENANCE: "true" });
  });

  test("is packed without permission to publish or write", () => {
    expect(jobs["pack"]?.permissions).toEqual({ contents: "read" });
    expect(jobs["merged-version"]?.permissions).toEqual({ contents: "read" });
  });
});

test("a package contains its changelog", () => {
  for (const name of readdirSync(join(root, "packages"))) {
    const { files } = JSON.parse(
      readFileSync(join(root, "packages", name, "package.json"), "utf8"),
    );
    expect(files, name).toContain("CHANGELOG.md");
  }
});

test("only package.json names the repository's address", () => {
  const address = "github\\.com/[[:alnum:]_-]*/?headgate";
  const args = ["grep", "-lE", address, "--", "docs", "packages", "*.md"];
  const named = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  expect(named.stderr).toBe("");
  expect(named.stdout).toBe("");
});

const FORMS = readdirSync(join(root, ".github/ISSUE_TEMPLATE")).filter(
  (file) => file !== "config.yml",
);

test.each(FORMS)("the issue form %s is valid", (file) => {
  const { name, description, body } = read<Form>("ISSUE_TEMPLATE", file);
  expect([name, description]).not.toContain("");
  expect(new Set(body.map(({ id }) => id)).size).toBe(body.length);
  for (const { type, attributes } of body) {
    expect(["textarea", "input", "dropdown"]).toContain(type);
    expect(attributes.label).toBeTruthy();
  }
});
