/** What `doctor` found: facts in the order a person reads them, and everything that is wrong, one line each. */
export interface Findings {
	facts: Record<string, string | number | Record<string, number>>;
	problems: string[];
}
