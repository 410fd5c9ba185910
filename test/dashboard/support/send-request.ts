import { request } from "node:http";

/** A complete response. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The body as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field
  readonly json: any;
}

interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends a request without following redirects, decoding the body or adding headers. */
export function sendRequest(url: string, options: RequestOptions = {}): Promise<TestResponse> {
  const { method = "GET", headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    // The path stays unchanged: `new URL` would normalize it.
    const [, host = "", port = "", path = ""] = /^http:\/\/([^:/]+):(\d+)(.*)$/s.exec(url) ?? [];
    const sent = request({ host, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const whole = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: whole,
          get json() {
            return JSON.parse(whole.toString());
          },
        });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** The headers of a request from the page to its own server. */
export const SAME_ORIGIN = {
  "sec-fetch-site": "same-origin",
  "content-type": "application/json",
} as const;

/** Calls an endpoint like the page: POST with a body, or else GET. */
export function api(
  page: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  const url = new URL(`api/${path}`, page).href;
  if (body === undefined) return sendRequest(url, { headers });
  return sendRequest(url, {
    method: "POST",
    headers: { ...SAME_ORIGIN, ...headers },
    body: JSON.stringify(body),
  });
}
