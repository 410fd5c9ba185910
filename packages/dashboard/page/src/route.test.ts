import { expect, test } from "vitest";
import { hrefOf, parseRoute, spanOf } from "./route.ts";

test.each(["login", "a&b=c#d?e/f", "näme 100%", "__proto__", "a+b c"])(
  "the limiter name %j survives a round trip through the URL",
  (name) => {
    const route = parseRoute(hrefOf("limiter", { name, span: "24h" }));
    expect(route).toMatchObject({ view: "limiter" });
    expect(Object.entries(route.params)).toEqual([
      ["name", name],
      ["span", "24h"],
    ]);
  },
);

test("a URL with half of a character does not throw", () => {
  expect(hrefOf("limiter", { name: "\ud800" })).toBe("#/limiter?name=%EF%BF%BD");
  expect(parseRoute("#/limiter?name=%E0%A4%A").view).toBe("limiter");
});

test("an unknown URL opens the overview of the last hour", () => {
  expect(parseRoute("").view).toBe("overview");
  expect(parseRoute("#/constructor").view).toBe("overview");
  expect(spanOf(parseRoute("#/?span=99y"))).toBe("1h");
  expect(hrefOf("overview", { span: undefined, find: "" })).toBe("#/");
});
