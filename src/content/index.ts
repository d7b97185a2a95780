export type { Content } from "./content-id.js";
export { getContent } from "./get-content.js";
export { type PutContentOptions, type PutContentResult, putContent } from "./put-content.js";
