export { background as nobody } from "../background.ts";
