import { serveParent } from "../child.js";
import { LoadMethods } from "./load-methods.js";

/** What the parent may call. */
export type LoadProcessMethods = Pick<LoadMethods, "open" | "run" | "close">;

const load = new LoadMethods();

serveParent(
  {
    open: (input: Parameters<LoadMethods["open"]>[0]) => load.open(input),
    run: (input: Parameters<LoadMethods["run"]>[0]) => load.run(input),
    close: (input: Parameters<LoadMethods["close"]>[0]) => load.close(input),
  },
  async () => load.end(),
);
