import { expect, test } from "vitest";
import { parseFields } from "./read-options.ts";

test("--fields names the fields of time, client, method, path and agent", () => {
  const fields = {
    time: "ts",
    client: "request.remote_ip",
    method: "m",
    path: "p",
    agent: "ua",
  };
  expect(parseFields("time=ts, client=request.remote_ip,method=m,path=p,agent=ua")).toEqual(fields);
});

test.each([
  ["names time twice", "time=a,client=b,time=c"],
  ["must name the field with the client", "time=a"],
  ["must name the field with the time", "client=a"],
  ['got "time"', "time"],
  ['got "client="', "time=a,client="],
  ['got "host=a"', "time=a,host=a"],
])("--fields is rejected with: %s", (message, text) => {
  expect(() => parseFields(text)).toThrow(message);
});
