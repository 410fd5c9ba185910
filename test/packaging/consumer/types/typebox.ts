import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { Type } from "@fastify/type-provider-typebox";
import headgate, { gcra } from "@headgate/fastify";
import Fastify from "fastify";

const app = Fastify().withTypeProvider<TypeBoxTypeProvider>();
app.register(headgate, { limits: gcra({ limit: 100, window: "1m" }) });

app.post(
  "/orders/:shop",
  {
    config: { rateLimit: { cost: 2 } },
    preHandler: app.rateLimit({ limits: gcra({ limit: 1, window: "1m" }) }),
    schema: {
      params: Type.Object({ shop: Type.String() }),
      body: Type.Object({ pieces: Type.Number() }),
    },
  },
  async (request) => {
    const pieces: number = request.body.pieces;
    const shop: string = request.params.shop;
    // @ts-expect-error the schema has no such property: the types of the schema survive our hook
    const other: string = request.body.other;
    return { pieces, shop, other, remaining: request.rateLimit?.remaining };
  },
);
