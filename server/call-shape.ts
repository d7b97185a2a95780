/** The shape of tool calls' records: what tokens must cover, and what workers with a store of their own use too. */
export const callShape = "tool-call";
