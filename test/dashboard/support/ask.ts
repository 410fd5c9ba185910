import { request } from "node:http";

/** An answer, whole. */
export interface Asked {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The body as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly json: any;
}

interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Asks as a client that follows nothing, decodes nothing and sends no header of its own. */
export function ask(url: string, options: AskOptions = {}): Promise<Asked> {
  const { method = "GET", headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    // The path as it is given: a URL would be made tidy.
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

/** The headers that a browser sends with a request of the page to its own server. */
export const OWN = { "sec-fetch-site": "same-origin", "content-type": "application/json" } as const;

/** Asks an endpoint as the page does: with a body, if one is given. */
export function api(
  page: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  const url = new URL(`api/${path}`, page).href;
  if (body === undefined) return ask(url, { headers });
  return ask(url, { method: "POST", headers: { ...OWN, ...headers }, body: JSON.stringify(body) });
}
