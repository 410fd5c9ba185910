import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { INSTRUMENTS } from "../../packages/telemetry/src/instruments.ts";
import { anchorsOf, codeIn, page, ROOT, section, tablesOf } from "./markdown.ts";

const PAGE = page("docs/how-to/operate.md");
const DIR = join(ROOT, "packages/telemetry/prometheus");

function rowsOf(heading: string): readonly (readonly string[])[] {
  return tablesOf(section(PAGE, heading))[0]?.rows ?? [];
}

test("the page's table has every instrument, by both names and with its kind", () => {
  const documented = rowsOf("What is measured").map(([name = "", prometheus = "", kind = ""]) => [
    ...codeIn(name),
    ...codeIn(prometheus),
    kind.split(",")[0],
  ]);
  const all = Object.values(INSTRUMENTS).map(({ name, prometheus, kind }) => [
    name,
    prometheus,
    kind,
  ]);
  expect(documented).toEqual(all);
});

test("the README has every name in Prometheus", () => {
  const [table] = tablesOf(page("packages/telemetry/README.md").text);
  const documented = table?.rows.flatMap(([name = ""]) => codeIn(name));
  expect(documented).toEqual(Object.values(INSTRUMENTS).map(({ prometheus }) => prometheus));
});

test("every panel of the dashboard explains itself", () => {
  const { panels } = JSON.parse(readFileSync(join(DIR, "dashboard.json"), "utf8")) as {
    panels: { description?: string; panels?: { description?: string }[] }[];
  };
  const shown = panels.flatMap((panel) => panel.panels ?? [panel]);
  expect(shown.length).toBeGreaterThan(10);
  for (const panel of shown) expect(panel.description).toMatch(/\w+ \w+/);
});

test("every alert is explained, with its severity", () => {
  const rules = readFileSync(join(DIR, "alerts.yml"), "utf8");
  const alerts = [...rules.matchAll(/- alert: (\w+)[\s\S]*?severity: (\w+)/g)];
  const documented = rowsOf("The alerts").map(([name = "", severity]) => [
    ...codeIn(name),
    severity,
  ]);
  expect(documented).toEqual(alerts.map(([, name, severity]) => [name, severity]));
});

test("every alert leads to a section of these pages", () => {
  const rules = readFileSync(join(DIR, "alerts.yml"), "utf8");
  const alerts = rules.split("- alert: ").slice(1);
  const start = "{{ $externalLabels.headgate_docs }}/";
  expect(section(page("docs/how-to/operate.md"), "Alerts and a dashboard")).toContain(
    "`headgate_docs`",
  );
  for (const alert of alerts) {
    const [, url = ""] = /^ {10}runbook_url: "(.+)"$/m.exec(alert) ?? [];
    expect(url.startsWith(start), alert).toBe(true);
    const [path = "", anchor = ""] = url.slice(start.length).split("#");
    const target = page(`docs/${path}.md`);
    if (anchor !== "") expect(anchorsOf(target), url).toContain(anchor);
  }
});
