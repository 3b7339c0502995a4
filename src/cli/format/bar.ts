const FULL = 24;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** `[██████░░░░] 50 %` */
export function bar(percent: number): string {
	const done = Math.round((Math.min(100, Math.max(0, percent)) / 100) * FULL);
	return `[${"█".repeat(done)}${"░".repeat(FULL - done)}] ${Math.floor(percent)} %`;
}

/** The next picture of a thing that turns while work goes on. */
export const spinner = (turn: number): string => FRAMES[turn % FRAMES.length] as string;
