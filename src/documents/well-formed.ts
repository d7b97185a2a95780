/** Node 20 has the method; the ES2023 library of the compiler does not list it yet. */
type WellFormedAware = string & { isWellFormed(): boolean };

/** Whether every surrogate in `text` has its partner. Text that is not well-formed has no UTF-8 form and would be altered. */
export function isWellFormed(text: string): boolean {
  return (text as WellFormedAware).isWellFormed();
}
