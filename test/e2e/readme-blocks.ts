/** Reads the fenced blocks of a page that its tests run. */

export interface ShellStep {
	command: string;
	/** Lines shown below it. */
	shown: string[];
}

/** The block behind `<!-- <label> -->`. */
export function blockAfter(page: string, label: string): string {
	const marker = `<!-- ${label} -->\n\`\`\``;
	const start = page.indexOf(marker);
	if (start < 0) throw new Error(`there is no block behind <!-- ${label} -->`);
	const body = page.indexOf("\n", start + marker.length) + 1;
	return page.slice(body, page.indexOf("```", body));
}

/** Commands of a terminal (`$ …`), each with what it is said to print. */
export function shellSteps(block: string): ShellStep[] {
	const steps: ShellStep[] = [];
	for (const line of block.trimEnd().split("\n")) {
		if (line.startsWith("$ ")) steps.push({ command: line.slice(2), shown: [] });
		else steps.at(-1)?.shown.push(line);
	}
	return steps;
}

/** What a shown output may be: `…` stands for anything, also for lines when it is alone; room between words is free. */
export function loosely(shown: readonly string[]): RegExp {
	const lines = shown.map((line) =>
		line.trim() === "…" ? "[\\s\\S]*" : line.trimEnd().split(/ +/).map(loosePart).join(" +"),
	);
	return new RegExp(`^${lines.join("\\s*?\\n")}\\s*$`);
}

const loosePart = (part: string): string => part.split("…").map(escaped).join("[^\\n]*");
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
