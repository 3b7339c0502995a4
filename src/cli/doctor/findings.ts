/** What `doctor` found: facts in the order a person reads them, and everything that is wrong, one line each. */
export interface Findings {
	facts: Record<string, string | number | Record<string, number>>;
	problems: string[];
	/** What was wrong and is right now, one line each; only where it was asked for. */
	mended?: string[];
}
