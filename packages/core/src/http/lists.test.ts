import { BlockList } from "node:net";
import { describe, expect, test, vi } from "vitest";
import type { Client } from "./client.ts";
import type { ClientList } from "./lists.ts";
import { createListStep, readList } from "./lists.ts";
import type { RequestContext } from "./request-context.ts";

interface Lists {
  readonly allowList?: ClientList<object>;
  readonly denyList?: ClientList<object>;
}

function clientAt(address: string | undefined, isDisconnected = false): Client {
  return { address, peer: undefined, isDisconnected: () => isDisconnected };
}

/** The step of these lists, as it finds a client. */
function stepOf({ allowList, denyList }: Lists) {
  const read = {
    denyList: readList("limit", "denyList", denyList),
    allowList: readList("limit", "allowList", allowList),
  };
  const step = createListStep<object>("limit", read, () => {});
  return step && ((client: Client) => step({ request: {}, client } as RequestContext<object>));
}

/** What becomes of a client: the status it is answered with, or how it goes on. */
async function find(lists: Lists, client: Client): Promise<unknown> {
  const verdict = await stepOf(lists)?.(client);
  return verdict?.kind === "refused" ? verdict.rejection.status : verdict?.kind;
}

const IPV4 = [
  "1.2.3.4",
  "::ffff:1.2.3.4",
  "::FFFF:102:304",
  "64:ff9b::1.2.3.4",
  "::ffff:0:102:304",
];

function blockListOf(address: string): BlockList {
  const list = new BlockList();
  list.addAddress(address, "ipv4");
  return list;
}

describe("client lists", () => {
  test.each(IPV4.flatMap((entry) => IPV4.map((address) => [entry, address])))(
    "a list with %s contains the client at %s",
    async (entry, address) => {
      expect(await find({ denyList: [entry as string] }, clientAt(address))).toBe(403);
      expect(await find({ allowList: [entry as string] }, clientAt(address))).toBe("pass");
    },
  );

  test.each([
    ["fe80::1%eth0", "fe80::1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["1.2.3.4:5678", "1.2.3.4"],
    ["2001:db8:0::0001", "2001:db8::1"],
  ])("a list contains the client at %s written as %s", async (address, entry) => {
    const list = vi.fn(() => true);
    expect(await find({ denyList: [entry] }, clientAt(address))).toBe(403);
    expect(await find({ denyList: list }, clientAt(address))).toBe(403);
    expect(list).toHaveBeenCalledWith({}, entry);
  });

  test("a list distinguishes addresses of one /64", async () => {
    const denyList = ["2001:db8::1"];
    expect(await find({ denyList }, clientAt("2001:db8::2"))).toBeUndefined();
  });

  test("a list does not contain a client whose address is a name", async () => {
    const lists = { denyList: ["0.0.0.0/0", "::/0"] };
    expect(await find(lists, clientAt("gateway.example"))).toBeUndefined();
    expect(await find({ denyList: blockListOf("1.2.3.4") }, clientAt("x"))).toBeUndefined();
  });

  test.each(IPV4)("a net.BlockList contains the client at %s", async (address) => {
    expect(await find({ denyList: blockListOf("1.2.3.4") }, clientAt(address))).toBe(403);
    expect(await find({ denyList: blockListOf("1.2.3.5") }, clientAt(address))).toBeUndefined();
  });

  test("entries can be added to a net.BlockList later", async () => {
    const list = new BlockList();
    const find = stepOf({ denyList: list });
    expect(find?.(clientAt("2001:db8::1"))).toBeUndefined();
    list.addSubnet("2001:db8::", 32, "ipv6");
    expect(find?.(clientAt("2001:db8::1"))).toMatchObject({ kind: "refused" });
  });

  test("a list is parsed again after it was changed", async () => {
    const list = ["1.2.3.4"];
    expect(await find({ denyList: list }, clientAt("1.2.3.4"))).toBe(403);
    list[0] = "1.2.3.5";
    expect(await find({ denyList: list }, clientAt("1.2.3.4"))).toBeUndefined();
    list.push("1.2.3.4");
    expect(await find({ denyList: list }, clientAt("1.2.3.4"))).toBe(403);
    list.push("nowhere");
    expect(() => stepOf({ denyList: list })).toThrow('"nowhere"');
  });

  test("an empty list is ignored, and needs no address", () => {
    expect(stepOf({ denyList: [], allowList: [] })).toBeUndefined();
  });

  test("denyList takes precedence over allowList", async () => {
    const order: string[] = [];
    const say = (name: string, answer: boolean) => async () => {
      order.push(name);
      return answer;
    };
    const both = (blocked: boolean) => ({
      allowList: say("allow", true),
      denyList: say("block", blocked),
    });
    expect(await find(both(true), clientAt("1.2.3.4"))).toBe(403);
    expect(order).toEqual(["block"]);
    expect(await find(both(false), clientAt("1.2.3.4"))).toBe("pass");
    expect(order).toEqual(["block", "block", "allow"]);
  });

  test.each([["yes"], [1], [0], [null], [undefined], [{}]])(
    "a list function returning %j is an error, now or later",
    async (answer) => {
      for (const list of [() => answer, async () => answer]) {
        for (const option of ["allowList", "denyList"]) {
          await expect(
            find({ [option]: list } as never, clientAt("1.2.3.4")),
          ).rejects.toMatchObject({
            code: "HEADGATE_INVALID_OPTION",
            message: expect.stringMatching(`^limit: ${option} must return true or false, got `),
          });
        }
      }
    },
  );

  test.each([
    [["1.2.3.4", "10.0.0.0/33"], '"10.0.0.0/33"'],
    [["gateway.example"], '"gateway.example"'],
    [[""], '""'],
    [[undefined], "undefined"],
    ["10.0.0.0/8", '"10.0.0.0/8"'],
    [new Set(["1.2.3.4"]), "an object"],
    [null, "null"],
    [true, "true"],
  ])("a list rejects %j", (list, received) => {
    for (const option of ["allowList", "denyList"] as const) {
      const validate = () => readList("limit", option, list as never);
      expect(validate).toThrow(new RegExp(`^limit: ${option} must be .*, got ${received}$`));
    }
  });
});

describe("lists and requests without an address", () => {
  test.each<[string, Lists]>([
    ["entries", { denyList: ["1.2.3.4"] }],
    ["a net.BlockList", { allowList: blockListOf("1.2.3.4") }],
    ["entries beside a function", { denyList: () => false, allowList: ["1.2.3.4"] }],
  ])(
    "a request without an address is an error with %s, unless its client has disconnected",
    async (_, lists) => {
      for (const address of [undefined, ""]) {
        await expect(find(lists, clientAt(address))).rejects.toMatchObject({
          code: "HEADGATE_NO_ADDRESS",
          message: expect.stringMatching(/^limit: .*trust.*function/),
        });
        expect(await find(lists, clientAt(address, true))).toBe("disconnected");
      }
    },
  );

  test("a list function gets a request without an address, unless its client has disconnected", async () => {
    const allowList = vi.fn(() => true);
    expect(await find({ allowList }, clientAt(""))).toBe("pass");
    expect(allowList).toHaveBeenCalledExactlyOnceWith({}, undefined);
    expect(await find({ allowList }, clientAt(undefined, true))).toBe("disconnected");
  });
});

describe("usesAddress of lists", () => {
  test.each<[Lists, boolean]>([
    [{ denyList: ["1.2.3.4"] }, true],
    [{ allowList: blockListOf("1.2.3.4") }, true],
    [{ allowList: (_, address) => address === "1.2.3.4" }, true],
    [{ allowList: () => true }, false],
  ])("usesAddress of %o is %s", (lists, uses) => {
    const [list] = Object.values(lists);
    expect(readList("limit", "denyList", list)?.usesAddress).toBe(uses);
  });
});
