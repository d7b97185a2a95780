import { commandLineTrial } from "../cli/command-line-trial.js";
import { effectsTrial } from "../effects/effects-trial.js";
import { expiryStress } from "../expiry/expiry-stress.js";
import { httpInput } from "../fuzz/http-input.js";
import { crashImages } from "../images/crash-images.js";
import { historiesTrial } from "../linearizability/histories-trial.js";
import { floodTrial } from "../overload/flood-trial.js";
import { repairTrial } from "../repair/repair-trial.js";
import { soakTrial } from "../soak/soak-trial.js";
import { backupTrial } from "../store/backup-trial.js";
import { storedBytes } from "../stored-bytes/stored-bytes.js";
import { tornLogs } from "../stored-bytes/torn-log.js";
import { tokenRotation } from "./token-rotation.js";
import type { Trial } from "./trial.js";

/** Everything that takes part in the long run. */
export const trials: readonly Trial[] = [
  historiesTrial,
  effectsTrial(60, 12),
  crashImages,
  expiryStress,
  storedBytes,
  tornLogs,
  tokenRotation(),
  backupTrial,
  repairTrial,
  commandLineTrial(),
  soakTrial,
  httpInput(1000),
  floodTrial(60),
];
