import { describe, expect, test } from "vitest";
import { DeniedRequests } from "./denied-requests.ts";

const request = (path: string, agent?: string) => ({ time: 0, client: "a", path, agent });

describe("the denied requests of a client", () => {
  test("name the most frequent agent, and three paths without their queries", () => {
    const requests = new DeniedRequests();
    for (const path of ["/a?page=1", "/b", "/a?page=2", "/c", "/c", "/c", "/d"]) {
      requests.add(1, request(path, path === "/b" ? "curl/8" : "Bot/2"));
    }
    requests.add(2, request("/other", "-"));
    expect(requests.of(1)).toEqual({
      agent: "Bot/2",
      paths: [
        { path: "/c", denied: 3 },
        { path: "/a", denied: 2 },
        { path: "/b", denied: 1 },
      ],
    });
    expect(requests.of(2)).toEqual({ paths: [{ path: "/other", denied: 1 }] });
    expect(requests.of(3)).toEqual({});
  });

  test("keep the frequent paths of a client that asks for many, and the clients that are denied most", () => {
    const requests = new DeniedRequests();
    for (let i = 0; i < 1_000; i += 1) {
      requests.add(1, request(`/${i}`));
      requests.add(1, request("/often"));
    }
    expect(requests.of(1).paths?.[0]?.path).toBe("/often");
    for (let client = 2; client < 10_000; client += 1) requests.add(client, request("/once"));
    expect(requests.of(1).paths?.[0]?.path).toBe("/often");
    const known = Array.from({ length: 10_000 }, (_, i) => requests.of(i).paths ?? []);
    expect(known.filter(({ length }) => length > 0).length).toBeLessThanOrEqual(4_096);
  });
});
