import { Agent, request } from "undici";

export interface Question {
  readonly method?: "GET" | "POST" | "HEAD" | "PUT" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** The body as JSON. */
  json(): unknown;
}

/** Asks a server over HTTP/1.1. */
export type Ask = (path?: string, question?: Question) => Promise<Answer>;

/** How to ask the server on a port of 127.0.0.1, or on a unix socket; `end` closes its connections. */
export function askAt(place: { port: number } | { path: string }): {
  ask: Ask;
  end(): Promise<void>;
} {
  const isPort = "port" in place;
  const origin = isPort ? `http://127.0.0.1:${place.port}` : "http://localhost";
  const agent = new Agent(isPort ? {} : { connect: { socketPath: place.path } });
  return {
    async ask(path = "/", { method = "GET", headers = {} } = {}) {
      const answer = await request(origin + path, { method, headers, dispatcher: agent });
      const text = await answer.body.text();
      return {
        status: answer.statusCode,
        headers: answer.headers as Record<string, string | undefined>,
        text,
        json: () => JSON.parse(text) as unknown,
      };
    },
    end: () => agent.destroy(),
  };
}
