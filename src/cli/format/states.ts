import type { PublicState } from "../../kernel/state.ts";
import type { Style, Terminal } from "../terminal.ts";

export const STATE_STYLES: Record<PublicState, Style> = {
	waiting: "yellow",
	delayed: "yellow",
	rate_limited: "yellow",
	waiting_children: "yellow",
	active: "cyan",
	suspended: "magenta",
	completed: "green",
	failed: "red",
	cancelled: "gray",
	expired: "red",
	skipped: "gray",
};

export const stateName = (terminal: Terminal, state: PublicState): string => terminal.style(STATE_STYLES[state], state);
