import { effectsTrial } from "../effects/effects-trial.js";
import { historiesTrial } from "../linearizability/histories-trial.js";
import type { Trial } from "./trial.js";

/** Everything that takes part in the long run. */
export const trials: readonly Trial[] = [historiesTrial, effectsTrial(60, 12)];
