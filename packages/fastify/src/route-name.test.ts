import { describe, expect, test } from "vitest";
import type { NamedRoute } from "./route-name.ts";
import { routeName } from "./route-name.ts";

function nameOf(route: NamedRoute): string {
  return routeName("api", route);
}

describe("the name of a route", () => {
  test("is the plugin's name, method and path", () => {
    expect(nameOf({ method: "GET", url: "/users/:id" })).toBe("api GET /users/:id");
    expect(routeName("limiter", { method: "POST", url: "/" })).toBe("limiter POST /");
  });

  test("is one for GET and HEAD", () => {
    const get = nameOf({ method: "GET", url: "/" });
    expect(nameOf({ method: "HEAD", url: "/" })).toBe(get);
    expect(nameOf({ method: ["GET", "HEAD"], url: "/" })).toBe(get);
    expect(nameOf({ method: ["HEAD"], url: "/" })).toBe(get);
  });

  test("does not depend on the order of methods", () => {
    const both = nameOf({ method: ["GET", "POST"], url: "/" });
    expect(both).toBe("api GET,POST /");
    expect(nameOf({ method: ["POST", "GET"], url: "/" })).toBe(both);
    expect(nameOf({ method: ["POST", "HEAD", "GET"], url: "/" })).toBe(both);
  });

  test("tells methods, paths and plugins apart", () => {
    const names = [
      nameOf({ method: "GET", url: "/" }),
      nameOf({ method: "POST", url: "/" }),
      nameOf({ method: ["GET", "POST"], url: "/" }),
      nameOf({ method: "GET", url: "/:id" }),
      nameOf({ method: "GET", url: "/ID" }),
      nameOf({ method: "GET", url: "/id" }),
      nameOf({ method: "GET", url: "*" }),
      routeName("other", { method: "GET", url: "/" }),
    ];
    expect(new Set(names).size).toBe(names.length);
  });

  test("tells routes apart that only their constraints do", () => {
    const constrained = (constraints: NonNullable<NamedRoute["constraints"]>) =>
      nameOf({ method: "GET", url: "/", constraints });
    const names = [
      nameOf({ method: "GET", url: "/" }),
      constrained({ host: "a.example" }),
      constrained({ host: "b.example" }),
      constrained({ host: /.*\.example/ }),
      constrained({ version: "1.0.0" }),
      constrained({ version: "2.0.0" }),
      constrained({ host: "a.example", version: "1.0.0" }),
      constrained({ tenant: { id: 1 } }),
      constrained({ tenant: { id: 2 } }),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(constrained({})).toBe(names[0]);
  });

  test("does not depend on the order of constraints, which another process may write otherwise", () => {
    const [one, other] = [
      { host: "a.example", version: "1.0.0" },
      { version: "1.0.0", host: "a.example" },
    ].map((constraints) => nameOf({ method: "GET", url: "/", constraints }));
    expect(one).toBe("api GET / host=a.example version=1.0.0");
    expect(other).toBe(one);
  });
});
