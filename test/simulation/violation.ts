/** Something that must never happen, happened. */
export class Violation extends Error {
	override name = "Violation";
}
