import { InvalidArgumentError } from "commander";
import { DURATION_ALLOWED, duration, lacksUnit, unitAsked, wholeNumber } from "./settings/values.ts";

/** How flags of commands are read; commander names the flag in front of what these complain about. */

export function durationFlag(text: string): number {
	if (lacksUnit(text)) throw new InvalidArgumentError(unitAsked(text));
	const value = duration(text);
	if (value === undefined) throw new InvalidArgumentError(DURATION_ALLOWED);
	return value;
}

export function numberFlag(low: number, high: number): (text: string) => number {
	const parse = wholeNumber(low, high);
	return (text) => {
		const value = parse(text);
		if (value === undefined) throw new InvalidArgumentError(`must be an integer from ${low} to ${high}`);
		return value;
	};
}

/** Unix milliseconds from a date, a number, or how long ago. */
export function timeFlag(text: string): number {
	const ago = duration(text);
	if (ago !== undefined && !/^\d+$/.test(text)) return Date.now() - ago;
	const at = /^\d{10,}$/.test(text) ? Number(text) : Date.parse(text);
	if (Number.isNaN(at))
		throw new InvalidArgumentError("must be a time such as 2026-01-31T12:00:00Z, or an age such as 2h");
	return at;
}

/** Unix milliseconds from a date or a number, for what is yet to come. */
export function momentFlag(text: string): number {
	const at = /^\d{10,}$/.test(text) ? Number(text) : Date.parse(text);
	if (Number.isNaN(at)) throw new InvalidArgumentError("must be a time such as 2026-01-31T12:00:00Z");
	return at;
}

export function jsonFlag(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new InvalidArgumentError("must be JSON");
	}
}

function tagOf(text: string): [key: string, value: string] {
	const at = text.indexOf("=");
	if (at < 1) throw new InvalidArgumentError("must be key=value");
	return [text.slice(0, at), text.slice(at + 1)];
}

/** `--tag key=value`, given any number of times. */
export function tagFlag(text: string, before: Record<string, string> = {}): Record<string, string> {
	const [key, value] = tagOf(text);
	return { ...before, [key]: value };
}

/** `--tag key=value` to look for, as the API writes it. */
export const oneTagFlag = (text: string): string => tagOf(text).join(":");
