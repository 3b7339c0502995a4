/** How bytes of a media type are shown: JSON as a value, text as a string, everything else as bytes. */
export const isJson = (contentType: string): boolean =>
	contentType === "application/json" || /^application\/(?:[\w.+-]+\+)?json\b/.test(contentType);
export const isText = (contentType: string): boolean => contentType.startsWith("text/");
