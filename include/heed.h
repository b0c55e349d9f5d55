/* heed: train, run and show attention models.

       #include <heed.h>
       #include <stdio.h>

       int main(void)
       {
           printf("heed %s: %s\n", heed_version(), heed_status_text(HEED_OK));
       }

       cc example.c $(pkg-config --cflags --libs heed)

   The library never prints, exits or aborts. A function that can fail returns a heed_status. */
#ifndef HEED_H
#define HEED_H

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0

#if defined(__GNUC__)
#define HEED_API __attribute__((visibility("default")))
#else
#define HEED_API
#endif

typedef enum heed_status {
    HEED_OK = 0,
    HEED_ENOMEM = 1,  /* out of memory */
    HEED_EARG = 2,    /* invalid argument */
    HEED_ESHAPE = 3,  /* shapes do not fit */
    HEED_EFILE = 4,   /* file cannot be read or written */
    HEED_EFORMAT = 5, /* malformed file */
    HEED_ELIMIT = 6,  /* limit exceeded */
    HEED_ENUMBER = 7, /* not a finite number */
    HEED_EMISSING = 8 /* not available in this build or on this device */
} heed_status;

/* Version of the library in use, "major.minor.patch"; the header compiled against may be another. */
HEED_API const char *heed_version(void);

/* Short English text of a status; never NULL, also for a number that is none. */
HEED_API const char *heed_status_text(heed_status status);

#ifdef __cplusplus
}
#endif

#endif
