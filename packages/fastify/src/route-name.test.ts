import { describe, expect, test } from "vitest";
import type { NamedRoute } from "./tracked-routes.ts";
import { routeName } from "./tracked-routes.ts";

function nameOf(route: NamedRoute): string {
  return routeName("api", route);
}

describe("route names", () => {
  test("a route's name is the plugin's name, the method and the path", () => {
    expect(nameOf({ method: "GET", url: "/users/:id" })).toBe("api GET /users/:id");
    expect(routeName("limiter", { method: "POST", url: "/" })).toBe("limiter POST /");
  });

  test("GET and HEAD of a path have one name", () => {
    const get = nameOf({ method: "GET", url: "/" });
    expect(nameOf({ method: "HEAD", url: "/" })).toBe(get);
    expect(nameOf({ method: ["GET", "HEAD"], url: "/" })).toBe(get);
    expect(nameOf({ method: ["HEAD"], url: "/" })).toBe(get);
  });

  test("the order of methods does not change the name", () => {
    const both = nameOf({ method: ["GET", "POST"], url: "/" });
    expect(both).toBe("api GET,POST /");
    expect(nameOf({ method: ["POST", "GET"], url: "/" })).toBe(both);
    expect(nameOf({ method: ["POST", "HEAD", "GET"], url: "/" })).toBe(both);
  });

  test("other methods, paths and plugins give other names", () => {
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

  test("constraints distinguish routes of the same path", () => {
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

  test("the order of constraints does not change the name, because another process may write them in another order", () => {
    const [one, other] = [
      { host: "a.example", version: "1.0.0" },
      { version: "1.0.0", host: "a.example" },
    ].map((constraints) => nameOf({ method: "GET", url: "/", constraints }));
    expect(one).toBe("api GET / host=a.example version=1.0.0");
    expect(other).toBe(one);
  });
});
