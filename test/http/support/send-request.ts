import { Agent, request } from "undici";

export interface RequestInput {
  readonly method?: "GET" | "POST" | "HEAD" | "PUT" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** The body as JSON. */
  json(): unknown;
}

/** Sends a request over HTTP/1.1. */
export type SendRequest = (path?: string, question?: RequestInput) => Promise<TestResponse>;

/** Creates a client of the server on a port of 127.0.0.1, or on a unix socket; `end` closes its connections. */
export function createHttpClient(address: { port: number } | { path: string }): {
  sendRequest: SendRequest;
  end(): Promise<void>;
} {
  const isPort = "port" in address;
  const origin = isPort ? `http://127.0.0.1:${address.port}` : "http://localhost";
  const agent = new Agent(isPort ? {} : { connect: { socketPath: address.path } });
  return {
    async sendRequest(path = "/", { method = "GET", headers = {} } = {}) {
      const response = await request(origin + path, { method, headers, dispatcher: agent });
      const text = await response.body.text();
      return {
        status: response.statusCode,
        headers: response.headers as Record<string, string | undefined>,
        text,
        json: () => JSON.parse(text) as unknown,
      };
    },
    end: () => agent.destroy(),
  };
}
