import { render } from "preact";
import { App } from "./app.tsx";
import { prefetch } from "./client/ahead.ts";
import { httpSource } from "./client/http-source.ts";
import { recordedSource } from "./client/recorded-source.ts";
import type { Source } from "./client/source.ts";
import { parseRoute } from "./route.ts";

/** The source of answers named by the meta element: a folder of the server, or a recording. */
function sourceOf(place: string): Source | Promise<Source> {
  return place.endsWith(".json") ? recordedSource(place) : httpSource(place);
}

const box = document.getElementById("page");
const place = document.querySelector<HTMLMetaElement>("meta[name=headgate-source]")?.content;
if (box) {
  const source = await sourceOf(place ?? "api/");
  prefetch(source, parseRoute(location.hash));
  render(<App source={source} />, box);
}
