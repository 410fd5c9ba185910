import { render } from "preact";
import { App } from "./app.tsx";
import type { DataSource } from "./client/data-source.ts";
import { httpSource } from "./client/data-source.ts";
import { recordedSource } from "./client/recorded-source.ts";
import { prefetch } from "./client/use-polling.ts";
import { parseRoute } from "./route.ts";

/** The data source in the meta element: a folder of the server, or a recording. */
function sourceOf(location: string): DataSource | Promise<DataSource> {
  return location.endsWith(".json") ? recordedSource(location) : httpSource(location);
}

const box = document.getElementById("page");
const sourceLocation = document.querySelector<HTMLMetaElement>(
  "meta[name=headgate-source]",
)?.content;
if (box) {
  const source = await sourceOf(sourceLocation ?? "api/");
  prefetch(source, parseRoute(location.hash));
  render(<App source={source} />, box);
}
