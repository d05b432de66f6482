// The pages of the lint rules.
#ifndef CAMEO_TOOLS_RULES_H
#define CAMEO_TOOLS_RULES_H

// What `cameo explain` says of a rule; "" where there is no page.
const char *rules_page(const char *id);

#endif
