/* Names of characters in HTML 4, with "apos" of HTML 5: X(name, code point), sorted by name. */
#ifndef HD_SERVE_HTML_ENTITY_LIST_H
#define HD_SERVE_HTML_ENTITY_LIST_H

/* clang-format off */
#define HD_ENTITY_LIST(X)                                                                                  \
    X(AElig, 198) X(Aacute, 193) X(Acirc, 194) X(Agrave, 192) X(Alpha, 913) X(Aring, 197) X(Atilde, 195)   \
    X(Auml, 196) X(Beta, 914) X(Ccedil, 199) X(Chi, 935) X(Dagger, 8225) X(Delta, 916) X(ETH, 208)         \
    X(Eacute, 201) X(Ecirc, 202) X(Egrave, 200) X(Epsilon, 917) X(Eta, 919) X(Euml, 203) X(Gamma, 915)     \
    X(Iacute, 205) X(Icirc, 206) X(Igrave, 204) X(Iota, 921) X(Iuml, 207) X(Kappa, 922) X(Lambda, 923)     \
    X(Mu, 924) X(Ntilde, 209) X(Nu, 925) X(OElig, 338) X(Oacute, 211) X(Ocirc, 212) X(Ograve, 210)         \
    X(Omega, 937) X(Omicron, 927) X(Oslash, 216) X(Otilde, 213) X(Ouml, 214) X(Phi, 934) X(Pi, 928)        \
    X(Prime, 8243) X(Psi, 936) X(Rho, 929) X(Scaron, 352) X(Sigma, 931) X(THORN, 222) X(Tau, 932)          \
    X(Theta, 920) X(Uacute, 218) X(Ucirc, 219) X(Ugrave, 217) X(Upsilon, 933) X(Uuml, 220) X(Xi, 926)      \
    X(Yacute, 221) X(Yuml, 376) X(Zeta, 918) X(aacute, 225) X(acirc, 226) X(acute, 180) X(aelig, 230)      \
    X(agrave, 224) X(alefsym, 8501) X(alpha, 945) X(amp, 38) X(and, 8743) X(ang, 8736) X(apos, 39)         \
    X(aring, 229) X(asymp, 8776) X(atilde, 227) X(auml, 228) X(bdquo, 8222) X(beta, 946) X(brvbar, 166)    \
    X(bull, 8226) X(cap, 8745) X(ccedil, 231) X(cedil, 184) X(cent, 162) X(chi, 967) X(circ, 710)          \
    X(clubs, 9827) X(cong, 8773) X(copy, 169) X(crarr, 8629) X(cup, 8746) X(curren, 164) X(dArr, 8659)     \
    X(dagger, 8224) X(darr, 8595) X(deg, 176) X(delta, 948) X(diams, 9830) X(divide, 247) X(eacute, 233)   \
    X(ecirc, 234) X(egrave, 232) X(empty, 8709) X(emsp, 8195) X(ensp, 8194) X(epsilon, 949) X(equiv, 8801) \
    X(eta, 951) X(eth, 240) X(euml, 235) X(euro, 8364) X(exist, 8707) X(fnof, 402) X(forall, 8704)         \
    X(frac12, 189) X(frac14, 188) X(frac34, 190) X(frasl, 8260) X(gamma, 947) X(ge, 8805) X(gt, 62)        \
    X(hArr, 8660) X(harr, 8596) X(hearts, 9829) X(hellip, 8230) X(iacute, 237) X(icirc, 238) X(iexcl, 161) \
    X(igrave, 236) X(image, 8465) X(infin, 8734) X(int, 8747) X(iota, 953) X(iquest, 191) X(isin, 8712)    \
    X(iuml, 239) X(kappa, 954) X(lArr, 8656) X(lambda, 955) X(lang, 9001) X(laquo, 171) X(larr, 8592)      \
    X(lceil, 8968) X(ldquo, 8220) X(le, 8804) X(lfloor, 8970) X(lowast, 8727) X(loz, 9674) X(lrm, 8206)    \
    X(lsaquo, 8249) X(lsquo, 8216) X(lt, 60) X(macr, 175) X(mdash, 8212) X(micro, 181) X(middot, 183)      \
    X(minus, 8722) X(mu, 956) X(nabla, 8711) X(nbsp, 160) X(ndash, 8211) X(ne, 8800) X(ni, 8715)           \
    X(not, 172) X(notin, 8713) X(nsub, 8836) X(ntilde, 241) X(nu, 957) X(oacute, 243) X(ocirc, 244)        \
    X(oelig, 339) X(ograve, 242) X(oline, 8254) X(omega, 969) X(omicron, 959) X(oplus, 8853) X(or , 8744)  \
    X(ordf, 170) X(ordm, 186) X(oslash, 248) X(otilde, 245) X(otimes, 8855) X(ouml, 246) X(para, 182)      \
    X(part, 8706) X(permil, 8240) X(perp, 8869) X(phi, 966) X(pi, 960) X(piv, 982) X(plusmn, 177)          \
    X(pound, 163) X(prime, 8242) X(prod, 8719) X(prop, 8733) X(psi, 968) X(quot, 34) X(rArr, 8658)         \
    X(radic, 8730) X(rang, 9002) X(raquo, 187) X(rarr, 8594) X(rceil, 8969) X(rdquo, 8221) X(real, 8476)   \
    X(reg, 174) X(rfloor, 8971) X(rho, 961) X(rlm, 8207) X(rsaquo, 8250) X(rsquo, 8217) X(sbquo, 8218)     \
    X(scaron, 353) X(sdot, 8901) X(sect, 167) X(shy, 173) X(sigma, 963) X(sigmaf, 962) X(sim, 8764)        \
    X(spades, 9824) X(sub, 8834) X(sube, 8838) X(sum, 8721) X(sup, 8835) X(sup1, 185) X(sup2, 178)         \
    X(sup3, 179) X(supe, 8839) X(szlig, 223) X(tau, 964) X(there4, 8756) X(theta, 952) X(thetasym, 977)    \
    X(thinsp, 8201) X(thorn, 254) X(tilde, 732) X(times, 215) X(trade, 8482) X(uArr, 8657) X(uacute, 250)  \
    X(uarr, 8593) X(ucirc, 251) X(ugrave, 249) X(uml, 168) X(upsih, 978) X(upsilon, 965) X(uuml, 252)      \
    X(weierp, 8472) X(xi, 958) X(yacute, 253) X(yen, 165) X(yuml, 255) X(zeta, 950) X(zwj, 8205)           \
    X(zwnj, 8204)
/* clang-format on */

#endif
