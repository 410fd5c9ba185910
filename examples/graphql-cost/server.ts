// GraphQL that charges a query before it runs, by the objects it may read: docs/how-to/real-cost.md says more.

import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { gcra, rateLimit } from "@headgate/express";
import type { Express, Request } from "express";
import express from "express";
import type { DocumentNode } from "graphql";
import {
  buildSchema,
  execute,
  GraphQLError,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
} from "graphql";
import { Redis } from "ioredis";
import { costOf } from "./query-cost.ts";

// Each list says how long it may be.
const schema = buildSchema(`
  type Query { authors(first: Int! = 10): [Author!]! }
  type Author { name: String! books(first: Int! = 10): [Book!]! }
  type Book { title: String! author: Author! }
`);

interface Author {
  readonly name: string;
  readonly titles: readonly string[];
}

/** Yours are in a database. */
const AUTHORS: readonly Author[] = [
  { name: "Ursula", titles: ["The Dispossessed", "The Lathe of Heaven"] },
  { name: "Stanisław", titles: ["Solaris", "Fiasco"] },
  { name: "Octavia", titles: ["Kindred"] },
];

interface First {
  readonly first: number;
}

/** The objects of one query; it counts those that resolvers read. */
class Reader {
  objects = 0;

  authors = ({ first }: First): object[] => this.#read(AUTHORS, first, (one) => this.#author(one));

  #author({ name, titles }: Author): object {
    const author = () => this.#read([{ name, titles }], 1, (one) => this.#author(one))[0];
    const books = ({ first }: First) => this.#read(titles, first, (title) => ({ title, author }));
    return { name, books };
  }

  #read<Row>(rows: readonly Row[], first: number, wrap: (row: Row) => object): object[] {
    const read = rows.slice(0, first);
    this.objects += read.length;
    return read.map(wrap);
  }
}

interface Query {
  readonly document: DocumentNode;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | undefined;
  readonly cost: number;
}

/** Reads a query, and what it may cost. Throws a `GraphQLError` if it is invalid. */
function readQuery(body: unknown): Query {
  const { query, variables, operationName } = Object(body);
  const document = parse(String(query), { maxTokens: 2_000 });
  const rules = [...specifiedRules, NoSchemaIntrospectionCustomRule];
  const [error] = validate(schema, document, rules);
  if (error !== undefined) throw error;
  const given = { document, variables: Object(variables), operationName };
  return { ...given, cost: costOf(schema, document, given.variables, operationName) };
}

export function createApp(store: Store): Express {
  const app = express();
  const queries = new WeakMap<Request, Query>();
  const queryOf = (req: Request) => queries.get(req) as Query;

  const budget = rateLimit({
    name: "graphql",
    store,
    limits: gcra({ limit: 1_000, window: "1m" }),
    cost: (req) => queryOf(req).cost,
    onDenied(req, res, { retryAfterMs }) {
      const { cost } = queryOf(req);
      const canPass = Number.isFinite(retryAfterMs);
      const message = canPass ? "Too many queries." : "This query can never pass: ask for less.";
      const code = canPass ? "RATE_LIMITED" : "QUERY_TOO_LARGE";
      const retryAfterSeconds = canPass ? Math.ceil(retryAfterMs / 1_000) : undefined;
      res.json({ errors: [{ message, extensions: { code, cost, retryAfterSeconds } }] });
    },
  });

  app.use("/graphql", express.json(), (req, res, next) => {
    try {
      queries.set(req, readQuery(req.body));
      next();
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      res.status(400).json({ errors: [error] });
    }
  });

  app.post("/graphql", budget, async (req, res) => {
    const { document, variables, operationName, cost } = queryOf(req);
    const rootValue = new Reader();
    const result = await execute({
      schema,
      document,
      rootValue,
      variableValues: variables,
      operationName,
    });
    // Also after an error: items that were read are charged.
    await budget.decisionOf(req)?.settle(rootValue.objects);
    res.json({ ...result, extensions: { cost: { most: cost, real: rootValue.objects } } });
  });

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) createApp(redisStore(new Redis())).listen(3000);
